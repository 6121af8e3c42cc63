//! What a store keeps of subagents: who they are, what they may do, and every version of what they remember.
//! Their projects are memberships like anybody's. What they write is a change like any other: see `Mutation`.

use crate::ports::{Slice, StoreError};
use async_trait::async_trait;
use engine::actor::{Actor, ActorKind};
use engine::ids::{ActorId, LessonId, NodeId, RunId};
use engine::lessons::LessonStatus;
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Scope};
use serde::{Deserialize, Serialize};

/// A subagent: an actor that a person owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub id: ActorId,
    pub handle: String,
    pub name: String,
    pub owner: ActorId,
    /// Who it is and how it works, in its owner's words.
    pub identity: String,
    /// What it may do beyond its own scratchpad and reading its projects.
    pub actions: Vec<String>,
    /// `provider/model`; the configured one when there is none.
    pub model: Option<String>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl AgentRecord {
    pub fn actor(&self) -> ActorRecord {
        ActorRecord {
            id: self.id,
            kind: ActorKind::Subagent,
            handle: self.handle.clone(),
            name: self.name.clone(),
            created_at: self.created_at,
        }
    }

    /// Was it given leave to do this? What it reads and does to itself needs none.
    pub fn is_granted(&self, action: &str) -> bool {
        self.actions.iter().any(|granted| granted == action)
    }

    /// What it and its owner may both see.
    pub fn scope(&self) -> Scope {
        Scope::OnBehalf { agent: self.id, owner: self.owner }
    }
}

/// One version of a scratchpad, and where it came from: a step of a run, its reflection, or a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadVersion {
    pub version: i64,
    pub content: String,
    pub characters: u32,
    pub actor: Actor,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    pub step: Option<u32>,
    pub at: Timestamp,
}

/// Something a subagent learned in a run: where, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    pub id: LessonId,
    pub agent_id: ActorId,
    pub text: String,
    pub status: LessonStatus,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    /// Of a homework: which executor.
    pub iteration: Option<u32>,
    pub branch_id: Option<String>,
    /// Of a tree.
    pub node_id: Option<NodeId>,
    pub at: Timestamp,
    /// Who promoted or dismissed it, and when; the platform where a run's success did.
    pub settled_by: Option<Actor>,
    pub settled_at: Option<Timestamp>,
    /// The version of the scratchpad that it became a part of.
    pub version: Option<i64>,
}

#[async_trait]
pub trait Agents: Send + Sync + 'static {
    /// The actor and what it is; a handle that is taken is `Unusable`.
    async fn create_agent(&self, agent: AgentRecord) -> Result<(), StoreError>;
    /// One person's, oldest first.
    async fn agents(&self, owner: ActorId, slice: Slice<ActorId>) -> Result<Vec<AgentRecord>, StoreError>;
    /// By id or handle.
    async fn agent(&self, name: &str) -> Result<Option<AgentRecord>, StoreError>;
    /// Name, identity, actions and model become these, if the record is still at `expected`. False when it is not.
    async fn change_agent(&self, agent: AgentRecord, expected: i64) -> Result<bool, StoreError>;
    /// The newest version; nothing where nothing was ever written.
    async fn scratchpad(&self, agent: ActorId) -> Result<Option<PadVersion>, StoreError>;
    /// Newest first, before a version.
    async fn scratchpad_versions(
        &self,
        agent: ActorId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<PadVersion>, StoreError>;
    /// Newest first, before a lesson; of one status, or of all.
    async fn lessons(
        &self,
        agent: ActorId,
        status: Option<LessonStatus>,
        before: Option<LessonId>,
        limit: usize,
    ) -> Result<Vec<Lesson>, StoreError>;
    async fn lesson(&self, agent: ActorId, lesson: LessonId) -> Result<Option<Lesson>, StoreError>;
    /// How many wait for somebody to settle them.
    async fn pending_lessons(&self, agent: ActorId) -> Result<u64, StoreError>;
}
