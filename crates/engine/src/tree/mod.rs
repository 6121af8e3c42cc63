//! The tree machine: every node plans or stays a leaf, delegates bands of steps to children, waits, aggregates,
//! replans within its allowance, and hands its parent an envelope.
//!
//! All nodes share one log. It knows nothing of attempts or the clock; `run` keeps those, `ledger` the money.

mod aggregate;
pub mod answer;
mod apply;
pub mod audit;
mod bands;
mod control;
mod decide;
pub(crate) mod effect_id;
mod end;
pub mod envelope;
mod execute;
pub mod node;
mod pad;
pub mod plan;
mod planning;
mod request;
mod results;
pub mod state;
pub mod status;
mod wants;

pub use state::State;

use crate::budget::{Admission, Reserve};
use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::facts::tree::NodeStatusChanged;
use crate::ids::NodeId;
use crate::run::{Facts, Input, NodeOrder, NodeRef, Refusal, Rules, Shared, Steering, Want};
use status::NodeStatus;

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

    fn node_ref(&self, effect: &EffectId) -> NodeRef {
        self.node_of(effect).map(|number| self.spot_of(number)).unwrap_or_default()
    }

    fn admit(&self, shared: &Shared, effect: &EffectId, call: Reserve, kept_back: Reserve) -> Admission {
        self.node_of(effect)
            .map_or(Admission::Fits, |number| self.accounts.admit(number, call, kept_back, shared.ledger.open > 0))
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

    fn held(&self, effect: &EffectId, why: &str, facts: &mut Facts) {
        let Some(number) = self.node_of(effect).filter(|number| self.at(*number).status == NodeStatus::Executing)
        else {
            return;
        };
        let role = self.at(number).role;
        facts.push_at(self.spot_of(number), NodeStatusChanged::to(NodeStatus::Blocked, role).saying(why));
    }

    fn canceled(&self, _shared: &Shared, facts: &mut Facts) {
        self.cancel_all(facts);
    }

    fn failed(&self, _shared: &Shared, error: &str, facts: &mut Facts) {
        self.interrupt(error, facts);
    }
}
