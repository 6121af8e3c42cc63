//! The homework machine: an iterating planner loop.
//!
//! One job = one iteration: planner → tools (one repair) → executors in parallel → one journal entry →
//! the gate. It knows nothing of attempts, money or time: `run` keeps those.

pub mod answer;
mod apply;
mod close;
mod decide;
mod effect_id;
mod entry;
mod evidence;
mod executor;
pub mod plan;
mod report;
mod request;
pub mod state;
mod wants;

pub use crate::prompts;
pub use state::State;

use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::run::{Facts, Input, Rules, Shared, Steering, Want};

pub const WORKSPACE: &str = "document.homework.workspace";
pub const SCRATCHPAD_ROOT: &str = "document.homework.scratchpad.root";
pub const SCRATCHPAD_EXEC: &str = "document.homework.scratchpad.exec";
pub const PLAN: &str = "document.homework.plan";
pub const SUMMARY: &str = "document.homework.summary.iteration";

impl Rules for State {
    fn apply(&mut self, shared: &Shared, event: &Event) {
        self.record(shared, event);
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        let mut wanted = self.wanted(shared);
        wanted.sort_by_key(|want| !want.inline);
        Box::new(wanted.into_iter())
    }

    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        self.work_for(shared, effect)
    }

    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts) {
        self.respond(shared, input, facts);
    }

    /// The planner hears everything, executors what steers.
    fn hears(&self, _shared: &Shared, effect: &EffectId, message: &Steering) -> bool {
        match effect_id::EffectPosition::of(effect, &self.tag, self.iteration) {
            Some(effect_id::EffectPosition::Plan { .. }) => true,
            Some(effect_id::EffectPosition::Round { .. }) => self.steers(message),
            _ => false,
        }
    }

    fn activity(&self, shared: &Shared) -> String {
        self.describe(shared)
    }

    fn awaits_people(&self, shared: &Shared) -> bool {
        self.phase == state::Phase::Waiting && shared.open_questions().next().is_some()
    }
}
