//! The tree machine: every node plans or stays a leaf, delegates bands of steps to children, waits, aggregates,
//! replans within its allowance, and hands its parent an envelope (contracts §6).
//!
//! All nodes share one log. It knows nothing of attempts or the clock; `run` keeps those, `ledger` the money.

mod aggregate;
pub mod answer;
mod apply;
pub mod audit;
mod bands;
mod control;
mod decide;
mod end;
pub mod envelope;
mod execute;
pub mod node;
mod pad;
pub(crate) mod place;
pub mod plan;
mod planning;
mod request;
mod results;
pub mod state;
pub mod status;
mod wants;

pub use state::State;

use crate::budget::{Reserve, Room};
use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::ids::NodeId;
use crate::run::{Facts, Input, NodeOrder, Refusal, Rules, Shared, Spot, Steering, Want};

/// Why a canceled node has no result.
pub(crate) const CANCELED: &str = "canceled by a person";
pub const SCRATCHPAD: &str = "document.tree_agent.scratchpad";
pub const ARTIFACT: &str = "document.tree_agent.artifact";

impl Rules for State {
    fn apply(&mut self, shared: &Shared, event: &Event) {
        self.record(shared, event);
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        Box::new(self.wanted(shared))
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

    fn want(&self, shared: &Shared, effect: &EffectId) -> Option<Want> {
        self.wanted_as(shared, effect)
    }

    fn spot(&self, effect: &EffectId) -> Spot {
        self.node_of(effect).map(|number| self.spot_of(number)).unwrap_or_default()
    }

    fn room(&self, shared: &Shared, effect: &EffectId, call: Reserve, kept_back: Reserve) -> Room {
        self.node_of(effect)
            .map_or(Room::Fits, |number| self.accounts.room(number, call, kept_back, shared.ledger.open > 0))
    }

    fn hears(&self, _shared: &Shared, effect: &EffectId, message: &Steering) -> bool {
        self.is_shown(effect, message)
    }

    fn awaits_people(&self, shared: &Shared) -> bool {
        self.rests(shared)
    }

    fn addressed(&self, shared: &Shared, node: NodeId) -> Result<(), Refusal> {
        self.listens(shared, node)
    }

    fn order(&self, shared: &Shared, node: NodeId, order: NodeOrder, facts: &mut Facts) -> Result<(), Refusal> {
        self.ordered(shared, node, order, facts)
    }

    fn canceled(&self, _shared: &Shared, facts: &mut Facts) {
        self.cancel_all(facts);
    }

    fn failed(&self, _shared: &Shared, error: &str, facts: &mut Facts) {
        self.interrupt(error, facts);
    }
}
