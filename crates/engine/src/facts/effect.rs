//! The ledger of calls to the outside: intent, outcome, and what a person decided where nobody can know.

use super::facts;
use crate::blob::BlobRef;
use crate::budget::{Exhausted, Reserve, Settled};
use crate::effect::EffectId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `effect.*`
    Effect {
        Started = "effect.started",
        Finished = "effect.finished",
        Unknown = "effect.unknown",
        Resolved = "effect.resolved",
    }
}

/// The intent: committed before the call leaves the machine, with the money it may cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    pub effect: EffectId,
    pub attempt: u32,
    /// The role for a model call, the tool's name for a tool call.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The request as a manifest of part hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<BlobRef>,
    pub reserve: Reserve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishedAs {
    /// An answer arrived whole.
    Ok,
    /// Tried again at `retryAt`.
    Transient,
    /// Given up.
    Failed,
    /// The process died with the call in flight; presumed paid, tried again.
    Lost,
    /// Never sent: the budget had no room for it.
    Refused,
    /// The run was cancelled under it; presumed paid.
    Canceled,
    /// A tool wants to know something first: called again with the answer.
    Asked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    pub effect: EffectId,
    pub attempt: u32,
    pub outcome: FinishedAs,
    pub settled: Settled,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<BlobRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Counts towards the attempts allowed; crashes of our own and parked providers do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
    /// The limit that left no room, for a call that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<Exhausted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_request_id: Option<String>,
    /// What a tool that asked wants back with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Value>,
}

/// A once-only call was out when the process died or the connection broke: nobody knows whether it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    pub effect: EffectId,
    pub attempt: u32,
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Happened,
    DidNot,
    Retry,
}

impl Decision {
    pub const ALL: [Decision; 3] = [Decision::Happened, Decision::DidNot, Decision::Retry];

    pub fn name(self) -> &'static str {
        match self {
            Decision::Happened => "happened",
            Decision::DidNot => "did_not",
            Decision::Retry => "retry",
        }
    }

    pub fn parse(text: &str) -> Option<Decision> {
        let text = text.trim().to_lowercase().replace([' ', '-'], "_");
        Decision::ALL.into_iter().find(|decision| decision.name() == text)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolved {
    pub effect: EffectId,
    pub decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
