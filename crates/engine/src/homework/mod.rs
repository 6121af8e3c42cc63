//! The homework machine: an iterating planner loop.
//!
//! One job = one iteration: planner → tools (one repair) → executors in parallel → one journal entry →
//! the gate. It knows nothing of attempts, money or time: `run` handles those.

pub mod answer;
mod apply;
mod close;
mod decide;
mod effect_id;
mod entry;
mod evidence;
mod executor;
pub mod plan;
mod progress;
mod report;
mod request;
pub mod state;
mod summary;
mod undone;
mod wants;

pub use crate::prompts;
pub use state::State;

use crate::budget::Reserve;
use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::facts::Fact;
use crate::facts::evidence::{EndState, EvidenceText};
use crate::model::Role;
use crate::run::{Facts, Input, Rules, Shared, StopReason, UserMessage, Want};
use crate::workspace::DOC_ROLE;
use effect_id::EffectPosition;
use serde_json::{Value, json};
use state::Phase;

pub const WORKSPACE: &str = "document.homework.workspace";
pub const SCRATCHPAD_ROOT: &str = "document.homework.scratchpad.root";
pub const SCRATCHPAD_EXEC: &str = "document.homework.scratchpad.exec";
pub const PLAN: &str = "document.homework.plan";
pub const SUMMARY: &str = "document.homework.summary.iteration";

/// The properties of the platform's own documents.
fn platform_props(shared: &Shared, role: &str, owner: &str, iteration: u32, branch_id: Option<&str>) -> Value {
    json!({
        "homework_run_id": shared.id, DOC_ROLE: role, "branch_id": branch_id, "iteration": iteration,
        "owner": owner, "tags": ["homework"],
    })
}

impl Rules for State {
    fn apply(&mut self, shared: &Shared, event: &Event) {
        match &event.fact {
            Fact::Homework(fact) => self.record_own(shared, fact, event),
            Fact::Run(fact) => self.record_shared(shared, fact),
            Fact::Effect(_) | Fact::Tree(_) | Fact::Task(_) | Fact::Unrecognized(_) => {}
        }
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        let mut wanted = match self.phase {
            Phase::NotStarted | Phase::Waiting | Phase::Ended => Vec::new(),
            Phase::Reporting => vec![self.model_call_wanted(EffectPosition::Report, Role::HomeworkReport, true)],
            Phase::Iterating => self.wanted_in_iteration(shared),
        };
        wanted.sort_by_key(|want| !want.inline);
        Box::new(wanted.into_iter())
    }

    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        let position = EffectPosition::of(effect, &self.tag, self.iteration)?;
        let call = |role, sections, fix: Option<EffectPosition>| {
            Some(Work::Model(self.model_call(shared, role, sections, fix)))
        };
        match position {
            EffectPosition::Plan { fix } => call(
                Role::HomeworkPlanner,
                self.planner(shared, self.iteration),
                fix.then_some(EffectPosition::Plan { fix: false }),
            ),
            EffectPosition::Repair { fix } => {
                call(Role::HomeworkRepair, self.repair(shared), fix.then_some(EffectPosition::Repair { fix: false }))
            }
            EffectPosition::Round { executor, round, fix } => {
                let sections = self.executor_round(shared, self.current.executors.get(executor)?);
                call(
                    Role::HomeworkExecutor,
                    sections,
                    fix.then_some(EffectPosition::Round { executor, round, fix: false }),
                )
            }
            EffectPosition::Report => call(Role::HomeworkReport, self.report_request(shared), None),
            EffectPosition::Tool(_) => {
                let call = self.current.calls.iter().find(|call| &call.id == effect)?;
                Some(Work::Tool(self.tool_call(shared, call, None)))
            }
            EffectPosition::RoundTool { executor, .. } | EffectPosition::Recall { executor } => {
                let executor = self.current.executors.get(executor)?;
                let call = executor.calls.iter().find(|call| &call.id == effect)?;
                Some(Work::Tool(self.tool_call(shared, call, Some(executor))))
            }
        }
    }

    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts) {
        match input {
            Input::Proceed => self.proceed(shared, facts),
            Input::Continued => self.go_on(shared, facts),
            Input::Reply { effect, reply, response } => match EffectPosition::of(effect, &self.tag, self.iteration) {
                Some(EffectPosition::Plan { .. }) => self.plan_answered(shared, effect, reply, response, facts),
                Some(EffectPosition::Repair { .. }) => self.repair_answered(effect, reply, response, facts),
                Some(EffectPosition::Round { executor, round, .. }) => {
                    self.round_answered(executor, round, effect, reply, response, facts)
                }
                Some(EffectPosition::Report) => self.end(shared, answer::read(reply).ok(), facts),
                Some(EffectPosition::Tool(_) | EffectPosition::RoundTool { .. } | EffectPosition::Recall { .. })
                | None => {}
            },
            Input::Tool { effect, outcome } => self.tool_answered(shared, effect, outcome, facts),
            Input::Failed { effect, error, .. } => self.call_failed(shared, effect, error, facts),
        }
    }

    /// The planner is shown every message, executors only those in the steer lane.
    fn shows_message(&self, _shared: &Shared, effect: &EffectId, message: &UserMessage) -> bool {
        match EffectPosition::of(effect, &self.tag, self.iteration) {
            Some(EffectPosition::Plan { .. }) => true,
            Some(EffectPosition::Round { .. }) => self.steers(message),
            _ => false,
        }
    }

    fn known_text(&self, reference: &str) -> Option<EvidenceText> {
        self.result_behind(reference)
    }

    fn end_state(&self, _shared: &Shared) -> EndState {
        self.left_undone()
    }

    /// One line about the current activity.
    fn activity(&self, shared: &Shared) -> String {
        let backing_off =
            shared.effects.values().any(|effect| matches!(effect, crate::run::EffectState::BackingOff { .. }));
        let doing = match self.phase {
            Phase::NotStarted => "starting".into(),
            Phase::Waiting => "waiting for an answer".into(),
            Phase::Reporting => "writing the report".into(),
            Phase::Ended => "ended".into(),
            Phase::Iterating if self.current.planned.is_none() => "planning".into(),
            Phase::Iterating => {
                match self.current.executors.iter().filter(|executor| executor.finished.is_none()).count() {
                    0 => "using tools".into(),
                    1 => "1 executor working".into(),
                    many => format!("{many} executors working"),
                }
            }
        };
        if backing_off {
            format!("iteration {}: {doing} (retrying)", self.iteration)
        } else {
            format!("iteration {}: {doing}", self.iteration)
        }
    }

    /// A canceled or failed run closes its iteration: its row, its metrics and its entry.
    fn cut_short(&self, shared: &Shared, reason: StopReason, detail: &str, facts: &mut Facts) {
        self.break_off(shared, reason, detail, facts);
    }

    fn next_call(&self, shared: &Shared) -> Option<Reserve> {
        // With some room to spare: the request may still grow a little before it is made.
        self.begins_iteration().then(|| self.planner_reserve(shared).with_margin())
    }

    fn awaits_answers(&self, shared: &Shared) -> bool {
        self.phase == Phase::Waiting && shared.open_questions().next().is_some()
    }
}
