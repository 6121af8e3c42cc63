//! Executing nodes: rounds of tool calls until the node has a result.

use super::answer::{ExecutorAnswer, MAX_ASKS, too_many_questions};
use super::effect_id::{EffectPosition, NodeCall};
use super::envelope::{foreign_names, missing};
use super::pad;
use super::results::{MadeArtifact, shown};
use super::state::State;
use super::status::NodeRole;
use crate::answer::MAX_TOOL_CALLS;
use crate::calls::{self, CallRecord};
use crate::effect::{EffectId, ToolOutcome};
use crate::facts::tree::{self as fact, ArtifactType, ProposedResult};
use crate::ids::{DocumentId, NodeNumber};
use crate::lessons::LessonQuota;
use crate::run::{Facts, Shared};
use crate::task::READ_SCRATCHPAD;
use serde_json::json;

impl State {
    pub(super) fn round_answered(
        &self,
        shared: &Shared,
        position: EffectPosition,
        answer: ExecutorAnswer,
        facts: &mut Facts,
    ) -> Result<(), Vec<String>> {
        let EffectPosition { node: number, part: NodeCall::Round { round, fix }, .. } = position else { return Ok(()) };
        let (node, node_ref) = (self.at(number), self.node_ref_of(number));
        if answer.question.is_some() && node.work.asked >= MAX_ASKS {
            return Err(vec![too_many_questions()]);
        }
        let mut result = answer.result.filter(|_| answer.question.is_none()).map(ProposedResult::from);
        if let Some(result) = &mut result {
            let mut errors = foreign_names(node, &answer.artifacts, result, !answer.tool_calls.is_empty());
            if errors.is_empty() && answer.tool_calls.is_empty() && !fix {
                // Asked for once more; if it is still missing, the result is partial.
                let kinds = node.current_artifacts().map(|artifact| artifact.kind);
                let made = kinds.chain(answer.artifacts.iter().map(|made| made.kind));
                errors.extend(missing(node.deliverable, made).map(|missing| missing.for_model()));
            }
            if !errors.is_empty() {
                return Err(errors);
            }
            let primary = answer.artifacts.iter().find(|artifact| artifact.is_primary);
            result.primary_artifact_label =
                result.primary_artifact_label.take().or(primary.map(|artifact| artifact.name().to_owned()));
        }
        let (tool_calls, left_out) = calls::calls_to_record(answer.tool_calls, MAX_TOOL_CALLS);
        let asks = answer.question.as_ref().map(|question| format!("**Asks**: {}", question.text)).unwrap_or_default();
        self.note(number, position.id(&self.tag).0, &answer.scratchpad, &asks, facts);
        self.register(shared, number, &answer.artifacts, facts);
        facts.push_at(node_ref, fact::ExecutorAnswered { round, result });
        let mut lessons = LessonQuota::after(&node.work.calls);
        for (index, call) in tool_calls.into_iter().enumerate() {
            let call_id = self.position(number, NodeCall::Tool { round, call: index as u32 }).id(&self.tag);
            let arguments = if call.arguments.is_null() { json!({}) } else { call.arguments };
            let asked = pad::asked(&arguments);
            facts.push_at(
                node_ref,
                fact::ToolCallRequested {
                    call_id: call_id.clone(),
                    tool: call.tool.clone(),
                    arguments,
                    purpose: call.purpose,
                },
            );
            let for_all = calls::refusal_of_left_out(index, MAX_TOOL_CALLS, left_out);
            if let Some(why) = for_all.or_else(|| lessons.refusal(&call.tool, index, MAX_TOOL_CALLS)) {
                let record = calls::refused(&why, facts);
                facts.push_at(node_ref, result_of(call_id, call.tool, asked, record));
            }
        }
        if let Some(question) = answer.question {
            self.ask(number, question, NodeRole::Executor, facts);
        }
        Ok(())
    }

    /// Reads the subagent's scratchpad before the node's first model call.
    pub(super) fn recall(&self, number: NodeNumber, facts: &mut Facts) {
        let Some(agent) = &self.at(number).agent else { return };
        facts.push_at(
            self.node_ref_of(number),
            fact::ToolCallRequested {
                call_id: self.position(number, NodeCall::Recall).id(&self.tag),
                tool: READ_SCRATCHPAD.into(),
                arguments: json!({}),
                purpose: format!("what {agent} remembers"),
            },
        );
    }

    pub(super) fn tool_answered_with(
        &self,
        shared: &Shared,
        effect: &EffectId,
        outcome: &ToolOutcome,
        facts: &mut Facts,
    ) {
        let Some(number) = self.node_of(effect) else { return };
        let Some(call) = calls::open(&self.at(number).work.calls).find(|call| &call.id == effect) else { return };
        let node_ref = self.node_ref_of(number);
        let by = self.at(number).agent.as_deref().map(|handle| shared.agent_id(handle));
        let record = calls::record(outcome, by, facts);
        let read = self.artifacts_read(number, outcome);
        let made: Vec<_> =
            record.artifacts.created_documents.iter().chain(&record.artifacts.updated_documents).cloned().collect();
        facts.push_at(node_ref, result_of(effect.clone(), call.tool.clone(), pad::asked(&call.arguments), record));
        for artifact_id in read {
            facts.push_at(node_ref, fact::ArtifactRead { artifact_id, by_node_id: self.at(number).id });
        }
        for document in made {
            let label = if document.title.is_empty() {
                call.arguments["title"].as_str().unwrap_or(&call.tool).to_owned()
            } else {
                document.title
            };
            let id = DocumentId(document.id);
            let text = outcome.mutations.iter().rev().find_map(|mutation| mutation.text_of(id));
            let content = text.map(|text| shown(text, facts));
            self.push_artifact(
                number,
                MadeArtifact {
                    kind: ArtifactType::Document,
                    document: Some(id),
                    label,
                    title: None,
                    content,
                    json: None,
                    own: false,
                },
                facts,
            );
        }
    }
}

fn result_of(call_id: EffectId, tool: String, asked: String, record: CallRecord) -> fact::ToolCallResult {
    let CallRecord { ok, summary, result, chars, artifacts, lesson } = record;
    fact::ToolCallResult { call_id, tool, asked: Some(asked), ok, summary, result, chars, artifacts, lesson }
}
