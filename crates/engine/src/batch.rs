//! What one append writes: events, the texts they refer to, the workspace changes they made,
//! and the projection rows they imply.

use crate::blob::{Blob, BlobRef, Hash};
use crate::criteria::CriterionRecord;
use crate::event::Event;
use crate::facts::evidence::RunOutcome;
use crate::facts::run::ProviderWaiting;
use crate::facts::task::StepAction;
use crate::facts::tree::ArtifactType;
use crate::facts::tree::NodeOutcome;
use crate::ids::{ActorId, ArtifactId, DocumentId, NodeId, NodeNumber, PlanId, ProjectId, QuestionId, RunId};
use crate::metrics::{Metrics, Running};
use crate::run::{Kind, ScopeKind, Status, StopReason};
use crate::time::Timestamp;
use crate::tree::status::{NodeRole, NodeStatus};
use crate::workspace::{Artifacts, Change};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Batch {
    pub run_id: RunId,
    /// The log must end here for the batch to be appended.
    pub expected_seq: u64,
    pub events: Vec<Event>,
    pub blobs: Vec<Blob>,
    pub changes: Vec<Change>,
}

impl Batch {
    pub fn after(run_id: RunId, expected_seq: u64) -> Batch {
        Batch { run_id, expected_seq, events: Vec::new(), blobs: Vec::new(), changes: Vec::new() }
    }
}

/// Projections: written with the events that imply them, and rebuilt from the log to the same bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub run: RunRow,
    /// The first deadline of a waiting run's questions: a worker must look at the run then, even if nobody answered.
    pub wake_at: Option<Timestamp>,
    /// The run has ended and its criteria are being checked again: it needs a driver for that.
    pub checking: bool,
    pub iterations: Vec<IterationRow>,
    pub nodes: Vec<NodeRow>,
    pub plans: Vec<PlanRow>,
    pub artifacts: Vec<ArtifactRow>,
    pub steps: Vec<StepRow>,
    pub entries: Vec<EntryRow>,
    pub notifications: Vec<NotificationRow>,
}

/// The run object of docs/protocol.md is this row, serialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub id: RunId,
    pub kind: Kind,
    pub objective: String,
    pub scope: ScopeKind,
    pub project_ids: Vec<ProjectId>,
    pub status: Status,
    pub activity: String,
    /// What it came to, once it is over.
    #[serde(default)]
    pub outcome: Option<RunOutcome>,
    pub stop_reason: Option<StopReason>,
    pub stop_detail: Option<String>,
    pub iteration: u32,
    pub budgets: Value,
    pub metrics: Metrics,
    pub plan: Value,
    pub success_criteria: Vec<CriterionRecord>,
    pub questions: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_node_id: Option<NodeId>,
    pub workspace_document_id: Option<DocumentId>,
    pub workspace_project_id: ProjectId,
    pub report: Value,
    pub model: String,
    pub warnings: Vec<String>,
    pub owner: ActorId,
    /// The subagent of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<ActorId>,
    /// The subagents its planners may delegate to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Of a tree that waits for its paused nodes: those nodes. Looked up when the run is read, never stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_nodes: Vec<NodeId>,
    /// The provider it waits for, and until when; `resume` tries at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_wait: Option<ProviderWaiting>,
    /// While it works. Computed when it is read, never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub last_seq: u64,
    pub head: Hash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationRow {
    pub run_id: RunId,
    pub iteration: u32,
    /// `running`, `completed`, or `canceled` and `failed` as the run did in it.
    pub status: String,
    pub summary: String,
    pub progress: bool,
    pub metrics: Value,
    pub artifacts: Value,
    /// While it works. Computed when it is read, never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// One node = one row; `metrics` are of its whole subtree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    pub id: NodeId,
    pub run_id: RunId,
    pub ordinal: NodeNumber,
    pub parent_node_id: Option<NodeId>,
    pub title: String,
    pub reason: String,
    pub success_criteria: Vec<String>,
    pub band_index: u32,
    pub step_index: u32,
    pub step_id: Option<String>,
    pub depth: u32,
    pub status: NodeStatus,
    pub role_state: NodeRole,
    pub message: Option<String>,
    pub paused: bool,
    pub generation: u32,
    pub retry_of: Option<NodeId>,
    /// The subagent it was delegated to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub scratchpad_doc_id: DocumentId,
    pub scratchpad_tail: String,
    pub outcome: Option<NodeOutcome>,
    pub error: Option<String>,
    /// Why its result is partial.
    #[serde(default)]
    pub shortfall: Option<String>,
    pub retryable: bool,
    /// Something it was shown has been replaced since.
    #[serde(default)]
    pub stale: bool,
    /// Neither it nor a node above it was replaced by a retry or another plan.
    #[serde(default = "yes")]
    pub current: bool,
    pub result: Value,
    pub metrics: Metrics,
    pub own_metrics: Metrics,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// One version of one node's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRow {
    pub id: PlanId,
    pub run_id: RunId,
    pub node_id: NodeId,
    pub version: u32,
    pub plan_json: Value,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactRow {
    pub id: ArtifactId,
    pub run_id: RunId,
    pub node_id: NodeId,
    pub artifact_type: ArtifactType,
    pub document_id: Option<DocumentId>,
    /// Small payloads; a bigger one is in `content`.
    pub json_payload: Option<Value>,
    /// What a reader is shown, as one JSON value.
    pub content: Option<BlobRef>,
    pub is_primary: bool,
    pub label: String,
    /// Of data; a document has a title of its own.
    #[serde(default)]
    pub title: Option<String>,
    /// Its node is.
    #[serde(default)]
    pub stale: bool,
    /// Its node is, has not begun again since, and has not given another in its place.
    #[serde(default = "yes")]
    pub current: bool,
    pub created_at: Timestamp,
}

/// What rows of earlier versions mean, which lack the field.
fn yes() -> bool {
    true
}

/// One step of a task: what its agent chose, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    pub run_id: RunId,
    pub step: u32,
    pub action: StepAction,
    pub path: Option<String>,
    pub action_name: Option<String>,
    pub params: Value,
    pub message: Option<String>,
    pub thought: Option<String>,
    /// Nothing while it is being carried out, and for `done` and `error`.
    pub ok: Option<bool>,
    pub summary: Option<String>,
    /// The page that came of it, among the blobs.
    pub result: Option<BlobRef>,
    pub artifacts: Artifacts,
    /// The event that chose it.
    pub seq: u64,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// One scratchpad entry, unique per (document, key).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryRow {
    pub document_id: DocumentId,
    pub key: String,
    pub markdown: String,
    pub run_id: RunId,
    pub seq: u64,
    pub at: Timestamp,
}

/// Unique per (run, seq): the event that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotificationRow {
    pub run_id: RunId,
    pub seq: u64,
    pub owner: ActorId,
    /// `question`, `waiting`, `completed`, `stopped`, `failed`, `canceled`.
    pub kind: String,
    pub title: String,
    pub body: String,
    pub question_id: Option<QuestionId>,
    pub at: Timestamp,
}
