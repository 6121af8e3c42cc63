//! A node that does its work itself: rounds of tools whose results come back, until it has a result.

use super::answer::ExecutorAnswer;
use super::envelope::{ArtifactType, foreign_names};
use super::place::{Part, Place};
use super::results::{MadeArtifact, shown};
use super::state::State;
use super::status::NodeRole;
use crate::answer::{MAX_TOOL_CALLS, NOT_RUN};
use crate::calls::{self, Call, Record};
use crate::effect::{EffectId, ToolOutcome};
use crate::facts::tree as fact;
use crate::ids::DocumentId;
use crate::run::{Facts, Shared};
use serde_json::json;

impl State {
    pub(super) fn round_answered(
        &self,
        shared: &Shared,
        place: Place,
        answer: ExecutorAnswer,
        facts: &mut Facts,
    ) -> Result<(), Vec<String>> {
        let Place { node: number, part: Part::Round { round, .. }, .. } = place else { return Ok(()) };
        let (node, spot) = (self.at(number), self.spot_of(number));
        let mut result = answer.result.filter(|_| answer.question.is_none());
        if let Some(result) = &mut result {
            let foreign = foreign_names(node, &answer.artifacts, result, !answer.tool_calls.is_empty());
            if !foreign.is_empty() {
                return Err(foreign);
            }
            let primary = answer.artifacts.iter().find(|artifact| artifact.is_primary);
            result.primary_artifact_label =
                result.primary_artifact_label.take().or(primary.map(|artifact| artifact.name().to_owned()));
        }
        let tools: Vec<String> = answer.tool_calls.iter().map(|call| call.tool.clone()).collect();
        self.note(number, place.id(&self.tag).0, &answer.scratchpad, &tools, facts);
        self.register(shared, number, &answer.artifacts, facts);
        facts.push_at(spot, fact::ExecutorAnswered { round, result });
        for (index, call) in answer.tool_calls.into_iter().enumerate() {
            let call_id = self.place(number, Part::Tool { round, call: index as u32 }).id(&self.tag);
            let arguments = if call.arguments.is_null() { json!({}) } else { call.arguments };
            facts.push_at(
                spot,
                fact::ToolCallRequested {
                    call_id: call_id.clone(),
                    tool: call.tool.clone(),
                    arguments,
                    purpose: call.purpose,
                },
            );
            if index >= MAX_TOOL_CALLS {
                let record = calls::refused(NOT_RUN, facts);
                facts.push_at(spot, result_of(call_id, call.tool, record));
            }
        }
        if let Some(question) = answer.question {
            self.ask(number, question, NodeRole::Executor, facts);
        }
        Ok(())
    }

    pub(super) fn tool_answered_with(&self, effect: &EffectId, outcome: &ToolOutcome, facts: &mut Facts) {
        let Some(number) = self.node_of(effect) else { return };
        let Some(call) = calls::open(&self.at(number).work.calls).find(|call| &call.id == effect) else { return };
        let spot = self.spot_of(number);
        let record = calls::record(&call.tool, outcome, facts);
        let made: Vec<_> =
            record.artifacts.created_documents.iter().chain(&record.artifacts.updated_documents).cloned().collect();
        facts.push_at(spot, result_of(effect.clone(), call.tool.clone(), record));
        for document in made {
            let label = if document.title.is_empty() {
                call.arguments["title"].as_str().unwrap_or(&call.tool).to_owned()
            } else {
                document.title
            };
            let content = written(call).map(|text| shown(text, facts));
            self.push_artifact(
                number,
                MadeArtifact {
                    kind: ArtifactType::Document,
                    document: Some(DocumentId(document.id)),
                    label,
                    content,
                    json: None,
                },
                facts,
            );
        }
    }
}

/// The text a call put into a document, where it was given whole.
fn written(call: &Call) -> Option<&str> {
    call.arguments.get("content").and_then(serde_json::Value::as_str)
}

fn result_of(call_id: EffectId, tool: String, record: Record) -> fact::ToolCallResult {
    let Record { ok, summary, result, chars, artifacts, .. } = record;
    fact::ToolCallResult { call_id, tool, ok, summary, result, chars, artifacts }
}
