//! Facts of a task run: a subagent's errand, step by step, and what it keeps of it.

use super::facts;
use crate::blob::BlobRef;
use crate::effect::EffectId;
use crate::ids::ActorId;
use crate::run::StopReason;
use crate::task::answer::Action;
use crate::task::state::Ending;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `task.*`
    Task {
        Started = "task.started",
        Step = "task.step",
        StepResult = "task.step_result",
        AnswerRejected = "task.answer_rejected",
        Ended = "task.ended",
        ScratchpadRead = "task.scratchpad_read",
        Reflected = "task.reflected",
        ScratchpadUpdated = "task.scratchpad_updated",
        ScratchpadUpdateFailed = "task.scratchpad_update_failed",
    }
}

/// The errand begins, at `/whoami`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    pub agent_id: ActorId,
    pub handle: String,
    pub max_steps: u32,
}

/// What the agent chose to do. Step 0 is the platform's: it opens `/whoami`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub step: u32,
    pub action: Action,
    /// The page: where to go, or where the action is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_name: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub params: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
}

/// The page that came of it, or why none did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    pub step: u32,
    pub ok: bool,
    pub summary: String,
    pub result: BlobRef,
    #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
    pub artifacts: Artifacts,
}

/// An answer did not fit its role's schema; the first time it is asked again, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRejected {
    pub effect: EffectId,
    pub errors: Vec<String>,
    pub response: BlobRef,
}

/// No more steps: what is left is the agent's reflection, then the run ends with this reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    pub ending: Ending,
    pub stop_reason: StopReason,
    pub message: String,
}

/// The scratchpad as the reflection is about to see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadRead {
    pub version: i64,
    pub content: BlobRef,
}

/// The agent looked back. Without a scratchpad it has nothing to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reflected {
    #[serde(default)]
    pub scratchpad: Option<String>,
    /// How many characters the agent wrote, where that was more than are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<u32>,
}

/// What the agent keeps for its future self is a new version, committed with this fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadUpdated {
    pub version: i64,
    pub characters: u32,
    /// The beginning of it.
    pub preview: String,
    /// How many characters the agent wrote, where that was more than are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<u32>,
}

/// The errand's outcome stands; only nothing was learned of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScratchpadUpdateFailed {
    pub error: String,
}
