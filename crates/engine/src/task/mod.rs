//! The task machine: a subagent's errand through the product's pages.
//!
//! It opens `/whoami`, is asked for one step at a time, and at every end looks back once and rewrites its
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
use crate::run::{Facts, Input, Rules, Shared, Want};

/// Actions an errand may take unless it is given another number, and at most.
pub const STEPS: u32 = 30;
pub const MOST_STEPS: u32 = 50;
/// Characters a scratchpad holds.
pub const SCRATCHPAD_CHARACTERS: usize = 10_000;

/// The tools an errand's steps are made of.
pub const OPEN_PAGE: &str = "open_page";
pub const PAGE_ACTION: &str = "page_action";
pub const READ_SCRATCHPAD: &str = "read_scratchpad";
pub const WRITE_SCRATCHPAD: &str = "write_scratchpad";

/// The steps an errand that asks for `asked` is given.
pub fn allowed_steps(asked: Option<u32>) -> u32 {
    asked.unwrap_or(STEPS).clamp(1, MOST_STEPS)
}

impl Rules for State {
    fn apply(&mut self, shared: &Shared, event: &Event) {
        self.record(shared, event);
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        Box::new(self.wanted(shared).into_iter())
    }

    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        self.work_for(shared, effect)
    }

    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts) {
        self.respond(shared, input, facts);
    }

    fn activity(&self, shared: &Shared) -> String {
        self.describe(shared)
    }

    fn takes_leave(&self, _shared: &Shared, facts: &mut Facts) -> bool {
        self.canceled(facts)
    }

    fn cut_short(&self, _shared: &Shared, why: &str, facts: &mut Facts) {
        self.leave_unreflected(why, facts);
    }
}
