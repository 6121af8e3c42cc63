//! The state of a run's calls: in flight, backing off, of unknown outcome, or waiting for an answer.

use crate::budget::Reserve;
use crate::effect::EffectId;
use crate::facts::effect::Started;
use crate::ids::QuestionId;
use crate::model::Role;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EffectState {
    InFlight(CallInFlight),
    BackingOff {
        attempt: u32,
        counted: u32,
        until: Timestamp,
        /// `provider/model` of the next attempt; `None` for a tool.
        #[serde(default)]
        model: Option<String>,
    },
    /// Whether it happened is unknown; a person is asked.
    Unknown {
        attempt: u32,
        what: String,
        #[serde(default)]
        question: Option<QuestionId>,
    },
    /// The tool asked a question; it is called again with the answer.
    Asking {
        attempt: u32,
        question: Option<QuestionId>,
        tool_state: Value,
        answer: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallInFlight {
    pub attempt: u32,
    pub counted: u32,
    pub reserve: Reserve,
    pub what: String,
    pub model: Option<String>,
    #[serde(default)]
    pub since: Timestamp,
}

impl CallInFlight {
    /// `None` for a call that is not a model's.
    pub(super) fn role(&self) -> Option<Role> {
        Role::parse(&self.what)
    }
}

impl EffectState {
    pub(super) fn in_flight(started: &Started, counted: u32, since: Timestamp) -> EffectState {
        EffectState::InFlight(CallInFlight {
            attempt: started.attempt,
            counted,
            reserve: started.reserve,
            what: started.what.clone(),
            model: started.model.clone(),
            since,
        })
    }

    pub fn attempt(&self) -> u32 {
        match self {
            EffectState::InFlight(flight) => flight.attempt,
            EffectState::BackingOff { attempt, .. }
            | EffectState::Unknown { attempt, .. }
            | EffectState::Asking { attempt, .. } => *attempt,
        }
    }

    /// Whether only a person can move it on.
    pub(super) fn awaits_a_person(&self) -> bool {
        matches!(self, EffectState::Unknown { .. } | EffectState::Asking { answer: None, .. })
    }

    /// The question it waits for.
    pub(super) fn question(&self) -> Option<QuestionId> {
        match self {
            EffectState::Unknown { question, .. } | EffectState::Asking { question, .. } => *question,
            EffectState::InFlight(_) | EffectState::BackingOff { .. } => None,
        }
    }

    pub(super) fn counted(&self) -> u32 {
        match self {
            EffectState::InFlight(flight) => flight.counted,
            EffectState::BackingOff { counted, .. } => *counted,
            EffectState::Unknown { .. } | EffectState::Asking { .. } => 0,
        }
    }
}

/// What can be done now, and when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Due {
    /// Calls of built-in tools: performed at once, without an intent.
    pub inline: Vec<EffectId>,
    /// Calls of models and external tools: the intent is recorded first.
    pub external: Vec<EffectId>,
    pub wake_at: Option<Timestamp>,
}

/// The provider of a call, parked until then.
#[derive(Clone, Debug, PartialEq)]
pub struct Parked {
    pub provider: String,
    pub until: Timestamp,
}

impl Due {
    pub(super) fn wake(&mut self, at: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at)));
    }
}
