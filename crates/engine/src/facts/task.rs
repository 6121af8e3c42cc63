//! Facts of a task run: a subagent's errand, step by step, and what it keeps of it.

use super::facts;
use crate::blob::BlobRef;
use crate::effect::EffectId;
use crate::ids::ActorId;
use crate::run::StopReason;
use crate::task::answer::Action;
use crate::task::state::Ending;
use crate::workspace::Artifacts;
use serde_json::Value;

facts! {
    /// `task.*`
    enum Task;

    /// The errand begins, at `/whoami`.
    Started = "task.started" {
        agent_id: ActorId,
        handle: String,
        max_steps: u32,
    }

    /// What the agent chose to do. Step 0 is the platform's: it opens `/whoami`.
    Step = "task.step" {
        step: u32,
        action: Action,
        /// The page: where to go, or where the action is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action_name: Option<String>,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        params: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thought: Option<String>,
    }

    /// The page that came of it, or why none did.
    StepResult = "task.step_result" {
        step: u32,
        ok: bool,
        summary: String,
        result: BlobRef,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
    }

    /// An answer did not fit its role's schema; the first time it is asked again, once.
    AnswerRejected = "task.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// No more steps: what is left is the agent's reflection, then the run ends with this reason.
    Ended = "task.ended" {
        ending: Ending,
        stop_reason: StopReason,
        message: String,
    }

    /// The scratchpad as the reflection is about to see it.
    ScratchpadRead = "task.scratchpad_read" {
        version: i64,
        content: BlobRef,
    }

    /// The agent looked back. Without a scratchpad it has nothing to change.
    Reflected = "task.reflected" {
        #[serde(default)]
        scratchpad: Option<String>,
        /// How many characters the agent wrote, where that was more than are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_from: Option<u32>,
    }

    /// What the agent keeps for its future self is a new version, committed with this fact.
    ScratchpadUpdated = "task.scratchpad_updated" {
        version: i64,
        characters: u32,
        /// The beginning of it.
        preview: String,
        /// How many characters the agent wrote, where that was more than are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_from: Option<u32>,
    }

    /// The errand's outcome stands; only nothing was learned of it.
    ScratchpadUpdateFailed = "task.scratchpad_update_failed" {
        error: String,
    }
}
