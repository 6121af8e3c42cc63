//! The task machine: a subagent works through the product's pages.
//!
//! It opens `/whoami`, is asked for one step at a time, and at every end reflects once and may rewrite its
//! scratchpad. What a page shows and what an action does is not known here: both are tools.

pub mod answer;
mod apply;
mod decide;
mod effect_id;
mod report;
mod request;
pub(crate) mod rows;
pub mod state;
mod wants;

pub use state::State;

use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::facts::Fact;
use crate::facts::evidence::EndState;
use crate::facts::task::{self as fact, TaskEnding};
use crate::model::Role;
use crate::prompt::{self, Size};
use crate::run::{Facts, Input, Rules, Shared, StopReason, Want};
use effect_id::EffectPosition;
use serde_json::json;
use state::Phase;

/// How many actions a task may take by default, and at most.
pub const DEFAULT_STEPS_PER_TASK: u32 = 30;
pub const MAX_STEPS_PER_TASK: u32 = 50;
/// The most characters of a scratchpad.
pub const MAX_SCRATCHPAD_CHARS: usize = 10_000;

/// The tools that carry out a task's steps.
pub const OPEN_PAGE: &str = "open_page";
pub const PAGE_ACTION: &str = "page_action";
pub const READ_SCRATCHPAD: &str = "read_scratchpad";
pub const WRITE_SCRATCHPAD: &str = "write_scratchpad";

/// The number of steps for a task that asks for `asked`.
pub fn allowed_steps(asked: Option<u32>) -> u32 {
    asked.unwrap_or(DEFAULT_STEPS_PER_TASK).clamp(1, MAX_STEPS_PER_TASK)
}

impl Rules for State {
    fn apply(&mut self, _shared: &Shared, event: &Event) {
        match &event.fact {
            Fact::Task(fact) => self.record_own(fact, event),
            Fact::Run(fact) => self.record_shared(fact),
            _ => {}
        }
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        Box::new(self.wanted(shared).into_iter())
    }

    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        match EffectPosition::of(effect, &self.tag)? {
            EffectPosition::NextStep { fix, .. } => {
                let rejected = self.rejected.as_ref().filter(|_| fix);
                let sections = self.step_request(shared);
                Some(Work::Model(prompt::model_call(shared, Role::AgentStep, sections, rejected, Size::Ordinary)))
            }
            EffectPosition::Reflection { .. } => {
                let sections = self.reflection_request(shared);
                Some(Work::Model(prompt::model_call(shared, Role::AgentReflection, sections, None, Size::WrapUp)))
            }
            EffectPosition::PerformStep { .. } => {
                Some(Work::Tool(self.tool(shared, self.open_step()?.tool(), self.open_step()?.arguments())))
            }
            EffectPosition::ReadScratchpad { .. } => Some(Work::Tool(self.tool(shared, READ_SCRATCHPAD, json!({})))),
            EffectPosition::WriteScratchpad { .. } => {
                let (version, _) = self.pad?;
                let arguments = json!({ "content": self.new_scratchpad.as_ref()?.text, "version": version });
                Some(Work::Tool(self.tool(shared, WRITE_SCRATCHPAD, arguments)))
            }
        }
    }

    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts) {
        match input {
            Input::Proceed if self.phase == Phase::NotStarted => self.start(shared, facts),
            Input::Proceed if self.phase == Phase::Checking && !shared.is_checking() => self.finish(shared, facts),
            Input::Proceed | Input::Continued => {}
            Input::Reply { effect, reply, response } => match EffectPosition::of(effect, &self.tag) {
                Some(EffectPosition::NextStep { fix, .. }) => self.step_answered(effect, fix, reply, response, facts),
                Some(EffectPosition::Reflection { .. }) => self.reflection_answered(shared, reply, facts),
                Some(
                    EffectPosition::PerformStep { .. }
                    | EffectPosition::ReadScratchpad { .. }
                    | EffectPosition::WriteScratchpad { .. },
                )
                | None => {}
            },
            Input::Tool { effect, outcome } => match EffectPosition::of(effect, &self.tag) {
                Some(EffectPosition::PerformStep { .. }) => self.step_performed(outcome, facts),
                Some(EffectPosition::ReadScratchpad { .. }) => self.scratchpad_read(shared, outcome, facts),
                Some(EffectPosition::WriteScratchpad { .. }) => self.scratchpad_written(shared, outcome, facts),
                Some(EffectPosition::NextStep { .. } | EffectPosition::Reflection { .. }) | None => {}
            },
            Input::Failed { effect, error, .. } => match EffectPosition::of(effect, &self.tag) {
                Some(EffectPosition::Reflection { .. }) => self.reflection_failed(shared, error, facts),
                Some(EffectPosition::NextStep { .. }) => self.step_call_failed(shared, error, facts),
                Some(
                    EffectPosition::PerformStep { .. }
                    | EffectPosition::ReadScratchpad { .. }
                    | EffectPosition::WriteScratchpad { .. },
                )
                | None => {}
            },
        }
    }

    fn activity(&self, _shared: &Shared) -> String {
        match self.phase {
            Phase::NotStarted => "about to begin".into(),
            Phase::ChoosingStep => format!("choosing step {} at {}", self.next_step(), self.page),
            Phase::PerformingStep => match self.open_step() {
                Some(taken) => format!("step {}: {}", taken.step, taken.headline()),
                None => "acting".into(),
            },
            Phase::ReadingScratchpad | Phase::Reflecting | Phase::WritingScratchpad => "looking back".into(),
            Phase::Checking => "checking the criteria".into(),
            Phase::Ended => "over".into(),
        }
    }

    fn end_state(&self, _shared: &Shared) -> EndState {
        self.left_undone()
    }

    /// After the first cancel the agent still reflects; a second cancel ends the run at once.
    fn finishes_before_cancel(&self, _shared: &Shared, facts: &mut Facts) -> bool {
        let working = matches!(self.phase, Phase::ChoosingStep | Phase::PerformingStep);
        if working {
            self.end(TaskEnding::Canceled, StopReason::Canceled, "canceled by a person".into(), facts);
        }
        working
    }

    /// The run ends without a reflection, unless it has had one and only its criteria were being checked.
    fn cut_short(&self, _shared: &Shared, reason: StopReason, _detail: &str, facts: &mut Facts) {
        if !matches!(self.phase, Phase::NotStarted | Phase::Checking | Phase::Ended) {
            facts.push(fact::ScratchpadUpdateFailed { error: format!("skipped: {}", reason.name()) });
        }
    }
}
