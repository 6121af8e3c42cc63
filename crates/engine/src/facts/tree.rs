//! Facts of a tree run. The node an event belongs to is in the event itself, not in the payload; names and
//! payloads are the seed's (contracts §3), fields beyond them are what a fold needs.

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
    enum Tree;

    /// queued → running.
    RunStarted = "tree.run_started" {
        workspace_project_id: ProjectId,
        root_node_id: NodeId,
    }

    /// What every executor of this run may use.
    ToolsManifest = "tree.tools_manifest" {
        tools: Vec<ToolSpec>,
    }

    /// A node's first event.
    NodeCreated = "tree.node_created" {
        title: String,
        reason: String,
        success_criteria: Vec<String>,
        depth: u32,
        band_index: u32,
        step_index: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<NodeId>,
        deliverable: Deliverable,
        /// The part of its parent's money that is kept for it.
        #[serde(default, skip_serializing_if = "no_reserve")]
        share: Reserve,
        /// The handle of the subagent it is given to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    }

    ScratchpadLinked = "tree.scratchpad_linked" {
        scratchpad_doc_id: DocumentId,
    }

    /// One entry on the node's pad; the key makes it exactly one.
    ScratchpadUpdated = "tree.scratchpad_updated" {
        scratchpad_doc_id: DocumentId,
        tail_preview: String,
        updated_at: Timestamp,
        entry_key: String,
        markdown: String,
    }

    /// Any change of status but the ends, which have facts of their own.
    NodeStatusChanged = "tree.node_status" {
        status: NodeStatus,
        role: NodeRole,
        /// `leaf_decision:…`, `guard:…`, or words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<f64>,
    }

    /// An answer did not fit its role's schema; the first time it is asked again, once.
    AnswerRejected = "tree.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// The node's plan from here on. Steps kept from an earlier version are in it with their results.
    PlanCreated = "tree.plan_created" {
        plan_id: PlanId,
        version: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        bands: Vec<PlanBand>,
    }

    PlanBandCreated = "tree.plan_band_created" {
        plan_id: PlanId,
        band_index: u32,
        step_ids: Vec<String>,
    }

    StepCreated = "tree.step_created" {
        step_id: String,
        band_index: u32,
        step_index: u32,
        title: String,
        reason: String,
        success_criteria: Vec<String>,
    }

    StepStatusChanged = "tree.step_status" {
        step_id: String,
        status: StepStatus,
    }

    /// The step is this child's now.
    NodeDelegated = "tree.node_delegated" {
        child_node_id: NodeId,
        step_id: String,
    }

    /// One round of an executor; its tool calls and artifacts have facts of their own.
    ExecutorAnswered = "tree.executor_answered" {
        round: u32,
        /// Given together with tool calls: it counts once they have run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ResultAnswer>,
    }

    /// The result that waited for its round's tool calls cannot stand: another round, with the reasons.
    ResultRefused = "tree.result_refused" {
        round: u32,
        errors: Vec<String>,
    }

    ToolCallRequested = "tree.tool_call_requested" {
        call_id: EffectId,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        purpose: String,
    }

    ToolCallResult = "tree.tool_call_result" {
        call_id: EffectId,
        tool: String,
        ok: bool,
        summary: String,
        /// What went back to the model, whole.
        result: BlobRef,
        /// The characters of the result, where they are fewer than its bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chars: Option<u32>,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
        /// The lesson that was kept, pending, in the same commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<Learned>,
    }

    /// Registered: from here on the node's envelope may name it.
    ArtifactCreated = "tree.artifact_created" {
        artifact_id: ArtifactId,
        artifact_type: ArtifactType,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document_id: Option<DocumentId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Of its document, where the label is not it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What a reader is shown, as JSON; absent for a document whose text the platform did not see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<BlobRef>,
        /// A JSON artifact small enough to travel in the envelope.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        json: Option<Value>,
        /// Given in an answer, not made by a tool: the same label again takes its place.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    }

    /// The receipt: the named node was shown this artifact.
    ArtifactRead = "tree.artifact_read" {
        artifact_id: ArtifactId,
        by_node_id: NodeId,
    }

    NodeAggregated = "tree.node_aggregated" {
        child_ids: Vec<NodeId>,
        summary: String,
        success_assessment: SuccessAssessment,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        key_findings: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gaps: Vec<String>,
        /// What becomes the node's envelope; absent when it replans or fails.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ResultAnswer>,
    }

    /// aggregating → planning again, as the next generation.
    ReplanRequested = "tree.replan_requested" {
        reason: String,
        based_on_child_ids: Vec<NodeId>,
    }

    NodeResult = "tree.node_result" {
        result: Envelope,
    }

    ParentHint = "tree.parent_hint" {
        parent_node_id: NodeId,
        hint_type: HintType,
        artifact_ids: Vec<ArtifactId>,
        document_ids: Vec<DocumentId>,
    }

    /// → completed.
    NodeCompleted = "tree.node_completed" {
        outcome: NodeOutcome,
        /// Why it is partial, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
        /// Of the whole subtree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metrics: Option<Metrics>,
        /// A limit cut it short: continuing takes it up again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    }

    /// → failed. What it was given to do may be tried again if `retryable`; continuing takes up what was `cut_short`, by a
    /// limit or by the end of the run, where it stands.
    NodeFailed = "tree.node_failed" {
        error: String,
        retryable: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    }

    /// → canceled.
    NodeCanceled = "tree.node_canceled" {
        disposition: Disposition,
    }

    /// completed, failed or aggregating → waiting, in a new generation; caused by itself, what it was doing last.
    NodeReopened = "tree.node_reopened" {
        generation: u32,
        caused_by: NodeId,
    }

    /// Neither the node nor anything below it starts a call until it is resumed.
    NodePaused = "tree.node_paused" {}

    NodeResumed = "tree.node_resumed" {}

    /// A limit took a decision. `guard` is its key in `budgets`.
    Guard = "tree.guard" {
        guard: String,
        limit: Value,
    }
}

fn no_reserve(reserve: &Reserve) -> bool {
    *reserve == Reserve::default()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// All it had begun is finished and recorded.
    Done,
    /// A call of its own was in flight: paid for, its answer refused.
    InFlightUnknown,
    NotStarted,
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
