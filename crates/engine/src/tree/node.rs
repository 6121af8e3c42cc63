//! One node: small enough that ten thousand fit, with short texts where only prompts need them and content by reference.

use super::answer::{MAX_ROUNDS, Synthesis};
use super::envelope::Hint;
use super::plan::Plan;
use super::status::{NodeRole, NodeStatus};
use crate::blob::BlobRef;
use crate::calls::{RecordedCall, RejectedAnswer};
use crate::effect::EffectId;
use crate::facts::tree::{ArtifactType, Deliverable, Envelope, NodeOutcome, ProposedResult};
use crate::ids::{ArtifactId, DocumentId, NodeId, NodeNumber, QuestionId};
use crate::lessons::has_read_scratchpad;
use crate::metrics::Metrics;
use crate::time::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    pub parent: Option<NodeNumber>,
    pub depth: u32,
    pub band: u32,
    pub step: u32,
    /// The step of its parent's plan that it works on; the root has none.
    pub step_id: Option<String>,
    pub title: String,
    pub reason: String,
    pub criteria: Vec<String>,
    pub deliverable: Deliverable,
    pub retry_of: Option<NodeId>,
    /// The handle of the subagent it is delegated to.
    pub agent: Option<String>,
    pub status: NodeStatus,
    /// Its status before it ended.
    pub status_before_end: NodeStatus,
    pub role: NodeRole,
    pub message: Option<String>,
    pub paused: bool,
    pub generation: u32,
    pub scratchpad: DocumentId,
    /// The newest entries of its scratchpad, while it works.
    pub tail: VecDeque<String>,
    pub tail_preview: String,
    pub plan: Option<Box<Plan>>,
    pub replans: u32,
    pub work: Box<GenerationWork>,
    pub artifacts: Vec<Artifact>,
    /// Artifacts before this one belong to earlier generations.
    pub first_artifact: usize,
    /// The artifacts of other nodes that this generation was shown.
    pub reads: Vec<ArtifactId>,
    /// Something that this generation was shown has been replaced since.
    pub stale: bool,
    pub result: Option<Box<Envelope>>,
    pub hint: Option<Box<Hint>>,
    pub synthesis: Option<Box<Synthesis>>,
    pub outcome: Option<NodeOutcome>,
    /// Why its result is partial.
    pub shortfall: Option<String>,
    pub error: Option<String>,
    pub retryable: bool,
    pub cut_short: bool,
    /// Whether it ever started a call of its own.
    pub called: bool,
    /// Calls of its own in flight.
    pub in_flight: u32,
    pub own: Metrics,
    /// Its own and everything below it.
    pub subtree: Metrics,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// The state of one generation's work; dropped when it ends.
#[derive(Clone, Debug)]
pub struct GenerationWork {
    /// The number of the current planner call, from 1.
    pub ask: u32,
    /// The executor's current round, from 1, and how many were answered.
    pub round: u32,
    pub answered: u32,
    /// Questions the executor asked; each adds a round.
    pub asked: u32,
    pub calls: Vec<RecordedCall>,
    pub result: Option<ProposedResult>,
    /// Why the last result was refused.
    pub refused: Vec<String>,
    pub rejected: BTreeMap<EffectId, RejectedAnswer>,
    pub replan: Option<String>,
    pub question: Option<QuestionId>,
    pub question_closed: bool,
    /// Open questions of its tool calls.
    pub asking: BTreeSet<QuestionId>,
    /// The verifier was asked about this generation's result; only the root's is.
    pub checked: bool,
}

impl Default for GenerationWork {
    fn default() -> Self {
        GenerationWork {
            ask: 1,
            round: 1,
            answered: 0,
            asked: 0,
            calls: Vec::new(),
            result: None,
            refused: Vec::new(),
            rejected: BTreeMap::new(),
            replan: None,
            question: None,
            question_closed: false,
            asking: BTreeSet::new(),
            checked: false,
        }
    }
}

impl GenerationWork {
    /// How many rounds it has; a round that asked a question does not count.
    pub fn rounds(&self) -> u32 {
        MAX_ROUNDS + self.asked
    }
}

#[derive(Clone, Debug)]
pub struct Artifact {
    pub id: ArtifactId,
    pub kind: ArtifactType,
    pub document: Option<DocumentId>,
    pub label: String,
    /// Its title, when it differs from the label.
    pub title: Option<String>,
    /// What a reader is shown, as one JSON value.
    pub content: Option<BlobRef>,
    /// Small payloads travel in the envelope.
    pub json: Option<Value>,
    /// Given in an answer, not made by a tool.
    pub own: bool,
    pub is_primary: bool,
    pub created_at: Timestamp,
}

impl Artifact {
    /// Whether it was given again under the same label, or is a later text of the same document.
    pub fn takes_the_place_of(&self, earlier: &Artifact) -> bool {
        let same_label = earlier.own && self.own && self.label == earlier.label;
        same_label || earlier.document.is_some() && self.document == earlier.document
    }

    /// The title, or the label without one.
    pub fn headline(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.label)
    }
}

impl Node {
    pub fn current_artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.artifacts[self.first_artifact..].iter()
    }

    /// Whether it was executing, not delegating, when it ended.
    pub fn worked_as_executor(&self) -> bool {
        match self.status_before_end {
            NodeStatus::Blocked => self.role == NodeRole::Executor,
            stood => stood == NodeStatus::Executing,
        }
    }

    /// A node blocked by a question of one tool call still runs its other calls.
    pub(super) fn uses_tools(&self) -> bool {
        let blocked_by_one = self.status == NodeStatus::Blocked && !self.work.asking.is_empty();
        self.asks_models() || blocked_by_one
    }

    fn asks_models(&self) -> bool {
        matches!(self.status, NodeStatus::Planning | NodeStatus::Executing | NodeStatus::Aggregating)
    }

    /// Whether it works as a subagent whose scratchpad was not read yet.
    pub(super) fn needs_recall(&self) -> bool {
        self.agent.is_some() && self.asks_models() && !has_read_scratchpad(&self.work.calls)
    }

    /// Whether none of its questions is open.
    pub(super) fn is_answered(&self) -> bool {
        self.work.asking.is_empty() && (self.work.question_closed || self.work.question.is_none())
    }

    pub fn is_live(&self) -> bool {
        !self.status.is_terminal()
    }
}
