//! Facts of a task run: a subagent's steps, and what it saves to its scratchpad at the end.

use super::facts;
use crate::blob::BlobRef;
use crate::effect::EffectId;
use crate::ids::ActorId;
use crate::run::StopReason;
use crate::words::words;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

facts! {
    /// `task.*`
    enum TaskFact as Task;

    /// The task begins, at `/whoami`: queued → running.
    Started = "task.started" {
        agent_id: ActorId,
        handle: String,
        max_steps: u32,
    }

    /// The agent chose its next step: the page or the action is wanted, or the task ends. Step 0 is the platform's:
    /// it opens `/whoami`.
    Step = "task.step" {
        step: u32,
        action: StepAction,
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

    /// A step is over: the page that came of it, or why none did. The next step is wanted.
    StepResult = "task.step_result" {
        step: u32,
        ok: bool,
        summary: String,
        result: BlobRef,
        #[serde(default, skip_serializing_if = "Artifacts::is_empty")]
        artifacts: Artifacts,
    }

    /// An answer did not fit its role's schema: it is asked again, once; after that the task ends.
    AnswerRejected = "task.answer_rejected" {
        effect: EffectId,
        errors: Vec<String>,
        response: BlobRef,
    }

    /// No more steps: what is left is the agent's reflection, then the run ends with this reason.
    Ended = "task.ended" {
        ending: TaskEnding,
        stop_reason: StopReason,
        message: String,
    }

    /// The scratchpad was read: the reflection, which is about to see it, is wanted.
    ScratchpadRead = "task.scratchpad_read" {
        version: i64,
        content: BlobRef,
    }

    /// The agent reflected; its new scratchpad is saved next. `None` changes nothing.
    Reflected = "task.reflected" {
        #[serde(default)]
        scratchpad: Option<String>,
        /// How many characters the agent wrote, where that was more than fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_from: Option<u32>,
    }

    /// The scratchpad has a new version, committed with this fact; the run ends.
    ScratchpadUpdated = "task.scratchpad_updated" {
        version: i64,
        characters: u32,
        /// The beginning of it.
        preview: String,
        /// How many characters the agent wrote, where that was more than fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_from: Option<u32>,
    }

    /// The scratchpad could not be changed; the task's outcome is unaffected, and the run ends.
    ScratchpadUpdateFailed = "task.scratchpad_update_failed" {
        error: String,
    }
}

words! {
    /// What a step does.
    StepAction {
        Navigate = "navigate",
        Execute = "execute",
        Done = "done",
        Error = "error",
    }
}

/// How a task ended; the agent reflects after each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskEnding {
    Done,
    Error,
    MaxSteps,
    Canceled,
    Exception,
    /// A limit of the run left no room for another step.
    Budget,
}

impl TaskEnding {
    /// The wording in the reflection's request.
    pub fn words(self) -> &'static str {
        match self {
            TaskEnding::Done => "completed",
            TaskEnding::Error => "error",
            TaskEnding::MaxSteps => "incomplete - max steps reached",
            TaskEnding::Canceled => "canceled by a person",
            TaskEnding::Exception => "exception",
            TaskEnding::Budget => "incomplete - a budget ended",
        }
    }
}
