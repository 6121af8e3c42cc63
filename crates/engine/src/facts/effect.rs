//! Facts of effects: the intent, the outcome, and what a person decided when the outcome is unknown.

use super::facts;
use crate::blob::BlobRef;
use crate::budget::{Exhausted, Reserve, Settled};
use crate::effect::EffectId;
use crate::time::Timestamp;
use crate::words::words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `effect.*`
    enum EffectFact as Effect;

    /// The intent: committed before the call leaves the machine, with the money it may cost. Wanted → in flight.
    Started = "effect.started" {
        effect: EffectId,
        attempt: u32,
        /// The role for a model call, the tool's name for a tool call.
        what: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The request as a manifest of part hashes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<BlobRef>,
        reserve: Reserve,
    }

    /// An attempt is over and its reservation settled: in flight → done, backing off, or given up.
    Finished = "effect.finished" {
        effect: EffectId,
        attempt: u32,
        outcome: FinishedAs,
        settled: Settled,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<BlobRef>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// Counts towards the attempts allowed; crashes of our own and parked providers do not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted: bool,
        /// The limit that left no room, for a call that was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exhausted: Option<Exhausted>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_request_id: Option<String>,
        /// The state a tool that asked a question gets back with the answer.
        #[serde(rename = "kept", default, skip_serializing_if = "Option::is_none")]
        tool_state: Option<Value>,
    }

    /// A once-only call was in flight when the process died or the connection broke: in flight → unknown, until a person
    /// decides.
    Unknown = "effect.unknown" {
        effect: EffectId,
        attempt: u32,
        what: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// A person decided what became of an unknown call: unknown → done, failed, or wanted again.
    Resolved = "effect.resolved" {
        effect: EffectId,
        decision: Decision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }
}

impl Finished {
    /// Only the outcome; the caller adds what else is known of the attempt.
    pub(crate) fn new(effect: &EffectId, attempt: u32, outcome: FinishedAs, settled: Settled) -> Finished {
        Finished {
            effect: effect.clone(),
            attempt,
            outcome,
            settled,
            response: None,
            error: None,
            retry_at: None,
            counted: false,
            exhausted: None,
            provider_request_id: None,
            tool_state: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The run was canceled while it was in flight; presumed paid.
    Canceled,
    /// A tool asked a question: called again with the answer.
    Asked,
}

words! {
    Decision {
        Happened = "happened",
        DidNot = "did_not",
        Retry = "retry",
    }
}

impl Decision {
    /// As people write it: in any case, with spaces or dashes.
    pub(crate) fn from_answer(text: &str) -> Option<Decision> {
        Decision::parse(&text.trim().to_lowercase().replace([' ', '-'], "_"))
    }
}
