//! Facts of a tree run. The node an event belongs to is in the event itself, not in the payload; some
//! fields exist only because the fold needs them.

use super::facts;
use crate::blob::BlobRef;
use crate::budget::Reserve;
use crate::effect::{EffectId, ToolSpec};
use crate::ids::{ArtifactId, DocumentId, NodeId, PlanId, ProjectId};
use crate::lessons::LessonRef;
use crate::metrics::Metrics;
use crate::time::Timestamp;
use crate::tree::status::{NodeRole, NodeStatus, StepStatus};
use crate::words::words;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `tree.*`
    enum TreeFact as Tree;

    /// The tree exists: queued → running.
    RunStarted = "tree.run_started" {
        workspace_project_id: ProjectId,
        root_node_id: NodeId,
    }

    /// What every executor of this run may use. Moves nothing.
    ToolsManifest = "tree.tools_manifest" {
        tools: Vec<ToolSpec>,
    }

    /// A node exists; its status follows in the same commit.
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
        /// The part of its parent's budget that is reserved for it.
        #[serde(default, skip_serializing_if = "no_reserve")]
        share: Reserve,
        /// The handle of the subagent it is delegated to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    }

    /// The node has its scratchpad: from here on it may work.
    ScratchpadLinked = "tree.scratchpad_linked" {
        scratchpad_doc_id: DocumentId,
    }

    /// One entry was added to the node's scratchpad; the key makes it exactly one. The status stays.
    ScratchpadUpdated = "tree.scratchpad_updated" {
        scratchpad_doc_id: DocumentId,
        tail_preview: String,
        updated_at: Timestamp,
        entry_key: String,
        markdown: String,
    }

    /// A node changed its status, to any but the ends, which have facts of their own.
    NodeStatusChanged = "tree.node_status" {
        status: NodeStatus,
        role: NodeRole,
        /// `leaf_decision:…`, `guard:…`, or words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// From 0 to 1: how many of its planned children have ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<f64>,
        /// Why its planner chose to plan, or to do the work itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode_reason: Option<String>,
    }

    /// An answer did not fit its role's schema: it is asked again, once; after that the node fails.
    AnswerRejected = "tree.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// The node's plan from here on, in place of an earlier one. Steps carried over from an earlier version are in it with
    /// their results.
    PlanCreated = "tree.plan_created" {
        plan_id: PlanId,
        version: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        bands: Vec<PlanBand>,
    }

    /// A band of the new plan, for readers of the log. Moves nothing.
    PlanBandCreated = "tree.plan_band_created" {
        plan_id: PlanId,
        band_index: u32,
        step_ids: Vec<String>,
    }

    /// A step of the new plan, for readers of the log: nothing → pending.
    StepCreated = "tree.step_created" {
        step_id: String,
        band_index: u32,
        step_index: u32,
        title: String,
        reason: String,
        success_criteria: Vec<String>,
    }

    /// A step of the node's plan moved to this status.
    StepStatusChanged = "tree.step_status" {
        step_id: String,
        status: StepStatus,
    }

    /// The child node works on this step from here on.
    NodeDelegated = "tree.node_delegated" {
        child_node_id: NodeId,
        step_id: String,
    }

    /// A node that executes answered one round: its calls run, then the next round or its result. Calls and artifacts
    /// have facts of their own.
    ExecutorAnswered = "tree.executor_answered" {
        round: u32,
        /// Given together with tool calls: it counts once they have run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ProposedResult>,
    }

    /// The result that waited for its round's tool calls was refused: another round follows, with the reasons.
    ResultRefused = "tree.result_refused" {
        round: u32,
        errors: Vec<String>,
    }

    /// An executing node called a tool: the call is wanted.
    ToolCallRequested = "tree.tool_call_requested" {
        call_id: EffectId,
        tool: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        purpose: String,
    }

    /// A tool call is over, well or not; what it changed commits with this fact.
    ToolCallResult = "tree.tool_call_result" {
        call_id: EffectId,
        tool: String,
        /// The arguments in one line, for the scratchpad, which has an entry for every call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
        ok: bool,
        summary: String,
        /// What went back to the model, whole.
        result: BlobRef,
        /// The characters of the result, where they are fewer than its bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chars: Option<u32>,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
        /// The lesson that was stored, pending, in the same commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<LessonRef>,
    }

    /// An artifact was registered: from here on the node's envelope may name it.
    ArtifactCreated = "tree.artifact_created" {
        artifact_id: ArtifactId,
        artifact_type: ArtifactType,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        document_id: Option<DocumentId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its title, when it differs from the label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What a reader is shown, as JSON; absent for a document whose text the platform did not see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<BlobRef>,
        /// A JSON artifact small enough to travel in the envelope.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        json: Option<Value>,
        /// Given in an answer, not made by a tool. A later artifact with the same label replaces it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    }

    /// The receipt: the named node was shown this artifact of another one, by its parent's request or by a tool. Moves nothing.
    ArtifactRead = "tree.artifact_read" {
        artifact_id: ArtifactId,
        by_node_id: NodeId,
    }

    /// The node summed up its children: it replans, ends with `result`, or fails.
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
        result: Option<ProposedResult>,
    }

    /// The children's results call for another plan: aggregating → planning, as the next generation.
    ReplanRequested = "tree.replan_requested" {
        reason: String,
        based_on_child_ids: Vec<NodeId>,
    }

    /// The node's result of this generation, for its parent; its end follows in the same commit.
    NodeResult = "tree.node_result" {
        result: Envelope,
    }

    /// What the parent will be shown of this node when it aggregates. Moves nothing yet.
    ParentHint = "tree.parent_hint" {
        parent_node_id: NodeId,
        hint_type: HintType,
        artifact_ids: Vec<ArtifactId>,
        document_ids: Vec<DocumentId>,
    }

    /// The node has a result: → completed.
    NodeCompleted = "tree.node_completed" {
        outcome: NodeOutcome,
        /// What it rests on: `doc:` and `artifact:` refs, the primary one first. Of a partial result that an earlier version
        /// wrote, why it is partial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
        /// Why it is partial, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shortfall: Option<String>,
        /// Of the whole subtree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metrics: Option<Metrics>,
        /// A limit cut it short: continuing the run resumes it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    }

    /// The node ended without a result: → failed. What it was given to do may be tried again if `retryable`; continuing
    /// resumes what was `cut_short` by a limit or by the end of the run.
    NodeFailed = "tree.node_failed" {
        error: String,
        retryable: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut_short: bool,
    }

    /// A person canceled the node, or one above it: → canceled.
    NodeCanceled = "tree.node_canceled" {
        disposition: Disposition,
    }

    /// A retry below it or a continuing run opens the node again: completed, failed or aggregating → waiting, in a new
    /// generation; caused by itself, → what it was doing last.
    NodeReopened = "tree.node_reopened" {
        generation: u32,
        caused_by: NodeId,
    }

    /// A result that the node was shown has been replaced, by a retry of the named node or of one below it: what the node made
    /// is stale until it is done again. The status stays.
    NodeStale = "tree.node_stale" {
        caused_by: NodeId,
    }

    /// A person paused the node: neither it nor anything below it starts a call until it is resumed. The status stays.
    NodePaused = "tree.node_paused" {}

    /// A person lifted the pause, or canceled the node: the node and what is below it may start calls again.
    NodeResumed = "tree.node_resumed" {}

    /// A limit decided something, which the next event shows. `guard` is its key in `budgets`.
    Guard = "tree.guard" {
        guard: String,
        limit: Value,
    }
}

fn no_reserve(reserve: &Reserve) -> bool {
    *reserve == Reserve::default()
}

words! {
    NodeOutcome {
        Success = "success",
        Partial = "partial",
        NoOp = "no_op",
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
    /// It never called, or it had planned and none of its steps had begun.
    NotStarted,
}

impl NodeStatusChanged {
    pub fn to(status: NodeStatus, role: NodeRole) -> NodeStatusChanged {
        NodeStatusChanged { status, role, message: None, progress: None, mode_reason: None }
    }

    pub fn saying(self, message: impl Into<String>) -> NodeStatusChanged {
        NodeStatusChanged { message: Some(message.into()), ..self }
    }

    pub fn with_progress(self, progress: Option<f64>) -> NodeStatusChanged {
        NodeStatusChanged { progress, ..self }
    }

    pub fn because(self, mode_reason: Option<String>) -> NodeStatusChanged {
        NodeStatusChanged { mode_reason, ..self }
    }
}

/// What a step must hand over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Deliverable {
    Document,
    Json,
    #[default]
    Either,
}

words! {
    /// What an artifact is.
    ArtifactType {
        Document = "document",
        Json = "json",
        Summary = "summary",
        Other = "other",
    }
}

/// How a parent reads what it is pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HintType {
    ReadDocuments,
    ReadJson,
}

/// What an envelope carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeKind {
    Json,
    Document,
    Hybrid,
}

/// Whether a node claims its criteria are met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuccessAssessment {
    pub met: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What a node hands its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub kind: EnvelopeKind,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_assessment: Option<SuccessAssessment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_artifact_id: Option<ArtifactId>,
    pub artifact_ids: Vec<ArtifactId>,
    pub document_ids: Vec<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad_doc_id: Option<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad_tail: Option<String>,
}

/// Steps of a plan that run side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanBand {
    pub index: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub goal: String,
    pub steps: Vec<PlanStep>,
}

/// One step of a plan, as its planner gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    pub id: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_criteria: Vec<String>,
    pub deliverable: Deliverable,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaf: bool,
    /// The handle of the subagent it is delegated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A result as its author named things, before labels become ids: it waits here for the tool calls of its round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedResult {
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_assessment: Option<SuccessAssessment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_artifact_label: Option<String>,
    #[serde(default)]
    pub parent_hint: ProposedHint,
}

/// What the parent should read, by label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedHint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_type: Option<HintType>,
    #[serde(default)]
    pub artifact_labels: Vec<String>,
}
