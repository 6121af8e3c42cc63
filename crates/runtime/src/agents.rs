//! Subagents as tools and pages read them: who they are, what they may do, and what they remember. Their projects are
//! memberships like anybody's. What they write is a change like any other: see `Mutation`.

use engine::actor::{Actor, ActorKind};
use engine::ids::{ActorId, RunId};
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
pub struct ScratchpadVersion {
    pub version: i64,
    pub content: String,
    pub characters: u32,
    pub actor: Actor,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    pub step: Option<u32>,
    pub at: Timestamp,
}
