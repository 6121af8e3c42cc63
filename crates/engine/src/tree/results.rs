//! How a node ends: its artifacts are registered, its envelope is written and its parent gets a hint what to read; or it
//! fails; or a limit cuts it short and its partial results become the envelope.

use super::answer::ArtifactAnswer;
use super::effect_id::NodeCall;
use super::envelope::{MAX_INLINE_JSON_BYTES, Missing, envelope, foreign_names, hint, missing};
use super::node::{Artifact, Node};
use super::planning::guard_of;
use super::state::{Move, State};
use super::status::{NodeStatus, StepStatus};
use super::verify::refuted;
use crate::blob::BlobRef;
use crate::budget::Exhausted;
use crate::calls::RecordedCall;
use crate::facts::tree::{self as fact, ArtifactType, NodeOutcome, ProposedResult, SuccessAssessment};
use crate::ids::{ArtifactId, DocumentId, NodeNumber};
use crate::run::{Facts, Shared, StopReason};
use crate::task::READ_SCRATCHPAD;
use serde_json::Value;

/// In characters: how much of a document or payload a reader is shown.
const SHOWN_CHARS: usize = 24_000;
/// The most refs that the end of a node names as its evidence.
const MAX_EVIDENCE: usize = 8;

pub(super) struct MadeArtifact {
    pub kind: ArtifactType,
    pub document: Option<DocumentId>,
    pub label: String,
    pub title: Option<String>,
    pub content: Option<BlobRef>,
    pub json: Option<Value>,
    /// Given in an answer, not made by a tool. A later artifact with the same label replaces it.
    pub own: bool,
}

/// The text as the JSON value readers are shown; a cut is marked.
pub(super) fn shown(text: &str, facts: &mut Facts) -> BlobRef {
    let length = text.chars().count();
    if length <= SHOWN_CHARS {
        return facts.store_text(Value::from(text).to_string());
    }
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    facts.store_text(Value::from(format!("{cut}\n[cut: {SHOWN_CHARS} of {length} characters shown]")).to_string())
}

impl State {
    pub(super) fn register(
        &self,
        shared: &Shared,
        number: NodeNumber,
        artifacts: &[ArtifactAnswer],
        facts: &mut Facts,
    ) -> Vec<Artifact> {
        artifacts
            .iter()
            .map(|artifact| {
                let made = match artifact.kind {
                    ArtifactType::Json | ArtifactType::Other if !artifact.json.is_null() => {
                        self.register_data(shared, number, artifact, facts)
                    }
                    _ => {
                        let content = Some(shown(&artifact.markdown, facts));
                        self.documented(shared, number, artifact, &artifact.markdown, content, facts)
                    }
                };
                self.push_artifact(number, made, facts)
            })
            .collect()
    }

    /// Small data is put into the envelope; larger data becomes a document, so that later bands and people can read it too.
    fn register_data(
        &self,
        shared: &Shared,
        number: NodeNumber,
        of: &ArtifactAnswer,
        facts: &mut Facts,
    ) -> MadeArtifact {
        let text = of.json.to_string();
        let whole = text.chars().count() <= SHOWN_CHARS;
        let content = Some(if whole { facts.store_text(text.clone()) } else { shown(&text, facts) });
        if text.len() > MAX_INLINE_JSON_BYTES {
            return self.documented(shared, number, of, &format!("```json\n{text}\n```\n"), content, facts);
        }
        let (label, title) = (of.name().to_owned(), of.title_beside_label());
        MadeArtifact { kind: of.kind, document: None, label, title, content, json: Some(of.json.clone()), own: true }
    }

    fn documented(
        &self,
        shared: &Shared,
        number: NodeNumber,
        of: &ArtifactAnswer,
        text: &str,
        content: Option<BlobRef>,
        facts: &mut Facts,
    ) -> MadeArtifact {
        let (label, title) = (of.name().to_owned(), of.title_beside_label());
        let document = Some(self.write_document(shared, number, title.as_deref().unwrap_or(&label), text, facts));
        MadeArtifact { kind: of.kind, document, label, title, content, json: None, own: true }
    }

    pub(super) fn push_artifact(&self, number: NodeNumber, made: MadeArtifact, facts: &mut Facts) -> Artifact {
        let MadeArtifact { kind, document, label, title, content, json, own } = made;
        let id: ArtifactId = facts.new_id();
        let created = fact::ArtifactCreated {
            artifact_id: id,
            artifact_type: kind,
            document_id: document,
            label: Some(label.clone()),
            title: title.clone(),
            content,
            json: json.clone(),
            own,
        };
        facts.push_at(self.node_ref_of(number), created);
        Artifact { id, kind, document, label, title, content, json, own, is_primary: false, created_at: facts.now }
    }

    /// The result a node has given becomes its envelope.
    pub(super) fn conclude(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) {
        let node = self.at(number);
        let Some(result) = node.work.result.clone() else { return };
        let errors = self.objections(number, &result);
        if !errors.is_empty() {
            return facts.push_at(self.node_ref_of(number), fact::ResultRefused { round: node.work.round, errors });
        }
        if number == NodeNumber::ROOT && self.is_held_by_check(shared, &result, facts) {
            return;
        }
        let shortfall = self.shortfall(shared, number, &result);
        let outcome = match &shortfall {
            Some(_) => NodeOutcome::Partial,
            None if self.changed_nothing(shared, number) => NodeOutcome::NoOp,
            None => NodeOutcome::Success,
        };
        self.complete(shared, number, &result, Vec::new(), (outcome, shortfall, false), facts);
    }

    /// Whether it has given a result that would be taken as it is.
    pub(super) fn has_whole_result(&self, number: NodeNumber) -> bool {
        let result = self.at(number).work.result.as_ref().filter(|_| self.move_of(number) == Some(Move::Conclude));
        result.is_some_and(|result| self.objections(number, result).is_empty())
    }

    /// Why a result is partial, in words for people.
    fn shortfall(&self, shared: &Shared, number: NodeNumber, result: &ProposedResult) -> Option<String> {
        let node = self.at(number);
        let steps = node.plan.iter().flat_map(|plan| &plan.steps);
        let failed = steps.filter(|step| step.status.is_terminal() && step.status != StepStatus::Completed).count();
        let mut reasons = Vec::new();
        if failed > 0 {
            reasons.push(format!("{failed} of its steps came to nothing"));
        }
        if let Some(assessment) = result.success_assessment.as_ref().filter(|assessment| !assessment.met) {
            reasons.push(assessment.notes.clone().unwrap_or_else(|| "its criteria are not met".into()));
        }
        if number == NodeNumber::ROOT {
            reasons.extend(refuted(shared));
        }
        reasons.extend(self.lacking(number).map(|missing| missing.for_people()));
        if node.status == NodeStatus::Executing {
            reasons.extend(self.failed_in_this_round(number));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Whether a leaf made nothing and called no tool that may have changed something, so that there was nothing to do. The
    /// root is none of these: what it says becomes a document.
    fn changed_nothing(&self, shared: &Shared, number: NodeNumber) -> bool {
        let node = self.at(number);
        let reads = |tool: &str| {
            tool == READ_SCRATCHPAD || shared.brief.tools.iter().any(|known| known.name == tool && known.read)
        };
        let wrote = |call: &RecordedCall| call.result.as_ref().is_some_and(|result| result.ok) && !reads(&call.tool);
        number != NodeNumber::ROOT
            && node.status == NodeStatus::Executing
            && node.current_artifacts().next().is_none()
            && !node.work.calls.iter().any(wrote)
    }

    /// What its step asked for and it did not make.
    fn lacking(&self, number: NodeNumber) -> Option<Missing> {
        let node = self.at(number);
        missing(node.deliverable, node.current_artifacts().map(|artifact| artifact.kind))
    }

    /// The calls that were made together with the last answer.
    fn calls_of_this_round(&self, number: NodeNumber) -> impl Iterator<Item = &RecordedCall> {
        let node = self.at(number);
        let of_this_round = |part| matches!(part, NodeCall::Tool { round, .. } if round == node.work.round);
        let calls = node.work.calls.iter();
        calls.filter(move |call| self.position_of(&call.id).is_some_and(|at| of_this_round(at.part)))
    }

    /// The errors of those that failed. The model gave its result before it could see them.
    fn failed_in_this_round(&self, number: NodeNumber) -> Vec<String> {
        let failed = self.calls_of_this_round(number).filter_map(|call| {
            let result = call.result.as_ref().filter(|result| !result.ok)?;
            Some(format!("{}, called with the result, failed: {}", call.tool, result.summary))
        });
        failed.collect()
    }

    /// Why a leaf's result is refused: it names artifacts its tool calls did not make, lacks the required deliverable, or came
    /// with calls that failed. Wrong names are refused until the rounds are used up, the other errors once.
    fn objections(&self, number: NodeNumber, result: &ProposedResult) -> Vec<String> {
        let node = self.at(number);
        if node.status != NodeStatus::Executing {
            return Vec::new();
        }
        let mut errors = foreign_names(node, &[], result, false);
        let once_more = node.work.refused.is_empty() && node.work.round < node.work.rounds();
        if once_more && self.calls_of_this_round(number).next().is_some() {
            errors.extend(self.lacking(number).map(|missing| missing.for_model()));
            errors.extend(self.failed_in_this_round(number));
        }
        errors
    }

    /// Envelope, hint, completion, in this order, and the parent's step.
    fn complete(
        &self,
        shared: &Shared,
        number: NodeNumber,
        result: &ProposedResult,
        mut fresh: Vec<Artifact>,
        end: (NodeOutcome, Option<String>, bool),
        facts: &mut Facts,
    ) {
        let (node, node_ref) = (self.at(number), self.node_ref_of(number));
        if number == NodeNumber::ROOT && !fresh.iter().any(Artifact::is_text) {
            fresh.extend(self.root_document(shared, result, facts));
        }
        let all = latest(node, &fresh);
        let primary = primary(&all, result, number == NodeNumber::ROOT);
        facts.push_at(node_ref, fact::NodeResult { result: envelope(node, &all, result, primary) });
        let hint = hint(&all, &result.parent_hint).filter(|_| node.parent.is_some());
        if let (Some(parent_node_id), Some(hint)) = (node_ref.parent, hint) {
            facts.push_at(
                node_ref,
                fact::ParentHint {
                    parent_node_id,
                    hint_type: hint.hint_type,
                    artifact_ids: hint.artifacts,
                    document_ids: hint.documents,
                },
            );
        }
        let (outcome, shortfall, cut_short) = end;
        let (evidence, metrics) = (evidence(&all, primary), Some(node.subtree.clone()));
        facts.push_at(node_ref, fact::NodeCompleted { outcome, evidence, shortfall, metrics, cut_short });
        self.step_ended(number, StepStatus::Completed, facts);
    }

    pub(super) fn fail(&self, number: NodeNumber, error: String, retryable: bool, facts: &mut Facts) {
        self.note_end(number, &format!("**Failed**: {error}"), facts);
        facts.push_at(self.node_ref_of(number), fact::NodeFailed { error, retryable, cut_short: false });
        self.step_ended(number, StepStatus::Failed, facts);
    }

    pub(super) fn step_ended(&self, number: NodeNumber, status: StepStatus, facts: &mut Facts) {
        let node = self.at(number);
        if let (Some(parent), Some(step_id)) = (node.parent, node.step_id.clone()) {
            facts.push_at(self.node_ref_of(parent), fact::StepStatusChanged { step_id, status });
        }
    }

    /// No room for the node's next call: what it and its children made becomes its partial result.
    pub(super) fn cut_short(
        &self,
        shared: &Shared,
        number: NodeNumber,
        limit: Exhausted,
        error: &str,
        facts: &mut Facts,
    ) {
        let (node, node_ref) = (self.at(number), self.node_ref_of(number));
        let (guard, value) = guard_of(shared, limit);
        facts.push_at(node_ref, fact::Guard { guard: guard.into(), limit: value });
        let of_run = format!("{}: ", StopReason::from(limit).name());
        let error = match error.starts_with(&of_run) {
            true => format!("{} left no room for its next call", limit.words()),
            false => error.to_owned(),
        };
        self.note_end(number, &format!("**Cut short**: {error}"), facts);
        let finished: Vec<(&str, NodeNumber)> = node
            .plan
            .iter()
            .flat_map(|plan| plan.children())
            .filter(|(step, _)| step.status == StepStatus::Completed)
            .map(|(step, child)| (step.of.title.as_str(), child))
            .collect();
        if finished.is_empty() && node.current_artifacts().next().is_none() {
            facts.push_at(node_ref, fact::NodeFailed { error, retryable: true, cut_short: true });
            return self.step_ended(number, StepStatus::Failed, facts);
        }
        let fresh = self.pass_on(number, &finished, facts);
        let lines = finished.iter().map(|(title, child)| {
            let summary = self.at(*child).result.as_ref().map(|result| result.summary.as_str()).unwrap_or_default();
            format!("\n- {title}: {}", summary.chars().take(300).collect::<String>())
        });
        let result = ProposedResult {
            summary: format!("{} ended the work before it was summed up.{}", limit.words(), lines.collect::<String>()),
            success_assessment: Some(SuccessAssessment { met: false, notes: Some(error.clone()) }),
            primary_artifact_label: None,
            parent_hint: Default::default(),
        };
        let end = (NodeOutcome::Partial, Some(error), true);
        self.complete(shared, number, &result, fresh, end, facts);
    }

    /// The children's documents, registered as this node's, so that nothing finished is lost on the way up.
    fn pass_on(&self, number: NodeNumber, finished: &[(&str, NodeNumber)], facts: &mut Facts) -> Vec<Artifact> {
        let made: Vec<MadeArtifact> = finished
            .iter()
            .flat_map(|(title, child)| self.hinted(*child).map(move |artifact| (title, artifact)))
            .map(|(title, artifact)| MadeArtifact {
                kind: artifact.kind,
                document: artifact.document,
                label: format!("{title}: {}", artifact.label),
                title: artifact.title.clone(),
                content: artifact.content,
                json: artifact.json.clone(),
                own: false,
            })
            .collect();
        made.into_iter().map(|artifact| self.push_artifact(number, artifact, facts)).collect()
    }

    /// The artifacts of a child's hint whose text the platform has.
    pub(super) fn readable(&self, child: NodeNumber) -> impl Iterator<Item = &Artifact> {
        self.hinted(child).filter(|artifact| artifact.content.is_some())
    }

    /// The artifacts a completed child's hint names.
    pub(super) fn hinted(&self, child: NodeNumber) -> impl Iterator<Item = &Artifact> {
        let node = self.at(child);
        let named = node.hint.iter().flat_map(|hint| &hint.artifacts);
        named.filter_map(|id| node.artifacts.iter().find(|artifact| artifact.id == *id))
    }
}

/// Everything of this generation; of what was given twice, the newer registration.
pub(super) fn latest<'a>(node: &'a Node, fresh: &'a [Artifact]) -> Vec<&'a Artifact> {
    let all: Vec<&Artifact> = node.current_artifacts().chain(fresh).collect();
    let replaced =
        |index: usize, artifact: &Artifact| all[index + 1..].iter().any(|later| later.takes_the_place_of(artifact));
    all.iter()
        .enumerate()
        .filter(|(index, artifact)| !replaced(*index, artifact))
        .map(|(_, artifact)| *artifact)
        .collect()
}

/// The refs of what the result rests on, the primary one first.
fn evidence(all: &[&Artifact], primary: Option<ArtifactId>) -> Option<String> {
    let (first, rest): (Vec<&Artifact>, Vec<_>) =
        all.iter().copied().partition(|artifact| Some(artifact.id) == primary);
    let refs: Vec<String> = first.into_iter().chain(rest).take(MAX_EVIDENCE).map(Artifact::reference).collect();
    (!refs.is_empty()).then(|| refs.join(", "))
}

/// The one the result names, else the newest document, else the first artifact. The root's is a document.
fn primary(all: &[&Artifact], result: &ProposedResult, document_only: bool) -> Option<ArtifactId> {
    let fits = |artifact: &&&Artifact| !document_only || artifact.is_text();
    let named = result.primary_artifact_label.as_deref().map(str::trim);
    let chosen = named.and_then(|name| all.iter().rev().filter(fits).find(|artifact| artifact.is_called(name)));
    let document = || all.iter().rev().find(|artifact| artifact.is_text());
    chosen.or_else(document).or(all.first()).map(|artifact| artifact.id)
}
