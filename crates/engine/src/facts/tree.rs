//! Facts of a tree run. The node an event belongs to is in the event itself, not in the payload; names and
//! payloads are the seed's, fields beyond them are what a fold needs.

use super::facts;
use crate::blob::BlobRef;
use crate::budget::Reserve;
use crate::effect::{EffectId, ToolSpec};
use crate::ids::{ArtifactId, DocumentId, NodeId, PlanId, ProjectId};
use crate::lessons::Learned;
use crate::metrics::Metrics;
use crate::time::Timestamp;
use crate::tree::answer::{Deliverable, LeafDecision, ResultAnswer};
use crate::tree::envelope::{ArtifactType, Envelope, HintType, SuccessAssessment};
use crate::tree::plan::PlanBand;
use crate::tree::status::{NodeRole, NodeStatus, StepStatus};
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `tree.*`
    Tree {
        RunStarted = "tree.run_started",
        ToolsManifest = "tree.tools_manifest",
        NodeCreated = "tree.node_created",
        ScratchpadLinked = "tree.scratchpad_linked",
        ScratchpadUpdated = "tree.scratchpad_updated",
        NodeStatusChanged = "tree.node_status",
        AnswerRejected = "tree.answer_rejected",
        PlanCreated = "tree.plan_created",
        PlanBandCreated = "tree.plan_band_created",
        StepCreated = "tree.step_created",
        StepStatusChanged = "tree.step_status",
        NodeDelegated = "tree.node_delegated",
        ExecutorAnswered = "tree.executor_answered",
        ResultRefused = "tree.result_refused",
        ToolCallRequested = "tree.tool_call_requested",
        ToolCallResult = "tree.tool_call_result",
        ArtifactCreated = "tree.artifact_created",
        ArtifactRead = "tree.artifact_read",
        NodeAggregated = "tree.node_aggregated",
        ReplanRequested = "tree.replan_requested",
        NodeResult = "tree.node_result",
        ParentHint = "tree.parent_hint",
        NodeCompleted = "tree.node_completed",
        NodeFailed = "tree.node_failed",
        NodeCanceled = "tree.node_canceled",
        NodeReopened = "tree.node_reopened",
        NodePaused = "tree.node_paused",
        NodeResumed = "tree.node_resumed",
        Guard = "tree.guard",
    }
}

/// queued → running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    pub workspace_project_id: ProjectId,
    pub root_node_id: NodeId,
}

/// What every executor of this run may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsManifest {
    pub tools: Vec<ToolSpec>,
}

/// A node's first event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCreated {
    pub title: String,
    pub reason: String,
    pub success_criteria: Vec<String>,
    pub depth: u32,
    pub band_index: u32,
    pub step_index: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<NodeId>,
    pub deliverable: Deliverable,
    /// The part of its parent's money that is kept for it.
    #[serde(default, skip_serializing_if = "no_reserve")]
    pub share: Reserve,
    /// The handle of the subagent it is given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

fn no_reserve(reserve: &Reserve) -> bool {
    *reserve == Reserve::default()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadLinked {
    pub scratchpad_doc_id: DocumentId,
}

/// One entry on the node's pad; the key makes it exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadUpdated {
    pub scratchpad_doc_id: DocumentId,
    pub tail_preview: String,
    pub updated_at: Timestamp,
    pub entry_key: String,
    pub markdown: String,
}

/// Any change of status but the ends, which have facts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatusChanged {
    pub status: NodeStatus,
    pub role: NodeRole,
    /// `leaf_decision:…`, `guard:…`, or words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
}

/// An answer did not fit its role's schema; the first time it is asked again, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRejected {
    pub effect: EffectId,
    pub errors: Vec<String>,
    pub response: BlobRef,
}

/// The node's plan from here on. Steps kept from an earlier version are in it with their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanCreated {
    pub plan_id: PlanId,
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub bands: Vec<PlanBand>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanBandCreated {
    pub plan_id: PlanId,
    pub band_index: u32,
    pub step_ids: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepCreated {
    pub step_id: String,
    pub band_index: u32,
    pub step_index: u32,
    pub title: String,
    pub reason: String,
    pub success_criteria: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepStatusChanged {
    pub step_id: String,
    pub status: StepStatus,
}

/// The step is this child's now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDelegated {
    pub child_node_id: NodeId,
    pub step_id: String,
}

/// One round of an executor; its tool calls and artifacts have facts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorAnswered {
    pub round: u32,
    /// Given together with tool calls: it counts once they have run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultAnswer>,
}

/// The result that waited for its round's tool calls cannot stand: another round, with the reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultRefused {
    pub round: u32,
    pub errors: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRequested {
    pub call_id: EffectId,
    pub tool: String,
    pub arguments: Value,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub purpose: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallResult {
    pub call_id: EffectId,
    pub tool: String,
    pub ok: bool,
    pub summary: String,
    /// What went back to the model, whole.
    pub result: BlobRef,
    /// The characters of the result, where they are fewer than its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u32>,
    #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
    pub artifacts: Artifacts,
    /// The lesson that was kept, pending, in the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<Learned>,
}

/// Registered: from here on the node's envelope may name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactCreated {
    pub artifact_id: ArtifactId,
    pub artifact_type: ArtifactType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Of its document, where the label is not it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a reader is shown, as JSON; absent for a document whose text the platform did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BlobRef>,
    /// A JSON artifact small enough to travel in the envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    /// Given in an answer, not made by a tool: the same label again takes its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The receipt: the named node was shown this artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRead {
    pub artifact_id: ArtifactId,
    pub by_node_id: NodeId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeAggregated {
    pub child_ids: Vec<NodeId>,
    pub summary: String,
    pub success_assessment: SuccessAssessment,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_findings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// What becomes the node's envelope; absent when it replans or fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultAnswer>,
}

/// aggregating → planning again, as the next generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplanRequested {
    pub reason: String,
    pub based_on_child_ids: Vec<NodeId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeResult {
    pub result: Envelope,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentHint {
    pub parent_node_id: NodeId,
    pub hint_type: HintType,
    pub artifact_ids: Vec<ArtifactId>,
    pub document_ids: Vec<DocumentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOutcome {
    Success,
    Partial,
    NoOp,
}

impl NodeOutcome {
    pub fn name(self) -> &'static str {
        match self {
            NodeOutcome::Success => "success",
            NodeOutcome::Partial => "partial",
            NodeOutcome::NoOp => "no_op",
        }
    }
}

/// → completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCompleted {
    pub outcome: NodeOutcome,
    /// Why it is partial, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Of the whole subtree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// A limit cut it short: continuing takes it up again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// → failed. What it was given to do may be tried again if `retryable`; continuing takes up what was `cut_short`, by a
/// limit or by the end of the run, where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFailed {
    pub error: String,
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// All it had begun is finished and recorded.
    Done,
    /// A call of its own was in flight: paid for, its answer refused.
    InFlightUnknown,
    NotStarted,
}

/// → canceled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCanceled {
    pub disposition: Disposition,
}

/// completed, failed or aggregating → waiting, in a new generation; caused by itself, what it was doing last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReopened {
    pub generation: u32,
    pub caused_by: NodeId,
}

/// Neither the node nor anything below it starts a call until it is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePaused {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeResumed {}

/// A limit took a decision. `guard` is its key in `budgets`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guard {
    pub guard: String,
    pub limit: Value,
}

impl NodeStatusChanged {
    pub fn to(status: NodeStatus, role: NodeRole) -> NodeStatusChanged {
        NodeStatusChanged { status, role, message: None, progress: None }
    }

    pub fn saying(self, message: impl Into<String>) -> NodeStatusChanged {
        NodeStatusChanged { message: Some(message.into()), ..self }
    }

    /// A node that does its work itself because it chose to.
    pub fn leaf(decision: LeafDecision) -> NodeStatusChanged {
        NodeStatusChanged::to(NodeStatus::Executing, NodeRole::Executor)
            .saying(format!("leaf_decision:{}", decision.name()))
    }
}
