//! The state of a task run. Stored in view checkpoints, like `homework::State`.

use crate::blob::BlobRef;
use crate::calls::RejectedAnswer;
use crate::facts::task::{StepAction, TaskEnding};
use crate::run::StopReason;
use crate::time::Timestamp;
use crate::workspace::Artifacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    #[default]
    NotStarted,
    /// The agent is asked for its next step.
    ChoosingStep,
    /// Its step is carried out.
    PerformingStep,
    /// The steps are over; the scratchpad is read for the reflection.
    ReadingScratchpad,
    Reflecting,
    /// The new scratchpad is written.
    WritingScratchpad,
    /// The verifier judges the task's criteria; then the run ends as decided.
    Checking,
    Ended,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub step: u32,
    pub action: StepAction,
    pub path: Option<String>,
    pub action_name: Option<String>,
    pub params: Value,
    pub message: Option<String>,
    pub thought: Option<String>,
    pub result: Option<StepOutcome>,
    /// The event that chose it, and when.
    pub seq: u64,
    pub at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepOutcome {
    pub ok: bool,
    pub summary: String,
    pub content: BlobRef,
    pub artifacts: Artifacts,
    pub at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Closing {
    pub ending: TaskEnding,
    pub stop_reason: StopReason,
    pub message: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewScratchpad {
    pub text: String,
    pub cut_from: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub(super) tag: String,
    pub(super) phase: Phase,
    pub(super) max_steps: u32,
    pub steps: Vec<Step>,
    /// Actions since the run began or was continued: what `max_steps` counts.
    pub(super) acted: u32,
    /// The page the agent is on.
    pub(super) page: String,
    pub(super) rejected: Option<RejectedAnswer>,
    pub(super) closing: Option<Closing>,
    pub(super) pad: Option<(i64, BlobRef)>,
    /// The new scratchpad, until it is written.
    pub(super) new_scratchpad: Option<NewScratchpad>,
    pub(super) made: Artifacts,
}

impl State {
    pub(super) fn next_step(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The step being carried out.
    pub(super) fn open_step(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.result.is_none())
    }

    pub fn actions(&self) -> u32 {
        self.steps
            .iter()
            .skip(1)
            .filter(|step| matches!(step.action, StepAction::Navigate | StepAction::Execute))
            .count() as u32
    }
}
