//! The work the tree waits for, read off its ready-sets.

use super::effect_id::Part;
use super::state::State;
use crate::calls;
use crate::effect::EffectId;
use crate::model::Role;
use crate::run::{Lane, Shared, Steering, Want};

impl State {
    pub(super) fn wanted<'a>(&'a self, shared: &'a Shared) -> impl Iterator<Item = Want> + 'a {
        let calls = self.tools.iter().flat_map(|number| calls::open(&self.at(*number).work.calls));
        let tools = calls.map(|call| Want::tool(shared, call));
        let models = self
            .ready
            .iter()
            .filter_map(|(_, number)| Some(self.model_want(shared, *number, self.call_wanted(*number)?)));
        tools.chain(models)
    }

    /// A node that is paused still waits for what it has begun.
    pub(super) fn wanted_as(&self, shared: &Shared, effect: &EffectId) -> Option<Want> {
        let number = self.node_of(effect)?;
        let position = self.place_of(effect)?;
        if position.generation != self.at(number).generation {
            return None;
        }
        match position.part {
            Part::Tool { .. } | Part::Recall => {
                let node = self.at(number);
                let call = calls::open(&node.work.calls).find(|call| &call.id == effect);
                call.filter(|_| node.uses_tools()).map(|call| Want::tool(shared, call))
            }
            part => (self.call_wanted(number) == Some(part)).then(|| self.model_want(shared, number, part)),
        }
    }

    pub(super) fn node_of(&self, effect: &EffectId) -> Option<u32> {
        self.place_of(effect).map(|position| position.node).filter(|number| (*number as usize) < self.nodes.len())
    }

    fn model_want(&self, shared: &Shared, number: u32, part: Part) -> Want {
        Want {
            effect: self.position(number, part).id(&self.tag),
            role: Some(role_of(part)),
            inline: false,
            wrap_up: self.is_wrap_up(shared, number, part),
        }
    }

    /// When a limit has ended the work, the root's last word is paid from the reserve.
    pub(super) fn is_wrap_up(&self, shared: &Shared, number: u32, part: Part) -> bool {
        number == 0 && matches!(part, Part::Aggregate { .. }) && shared.exhausted.is_some()
    }

    /// A message to a node is for it and those below; a queued one is for whoever plans or sums up.
    pub(super) fn is_shown(&self, effect: &EffectId, message: &Steering) -> bool {
        let Some(position) = self.place_of(effect) else { return false };
        let in_time = message.lane == Lane::Steer || !matches!(position.part, Part::Round { .. });
        let addressed = message.node_id.is_none_or(|id| {
            self.node_of(effect).is_some_and(|number| self.path(number).any(|at| self.at(at).id == id))
        });
        in_time && addressed
    }

    /// No node can move but by an answer.
    pub(super) fn rests(&self, shared: &Shared) -> bool {
        self.is_idle() && shared.open_questions().next().is_some()
    }

    /// Nothing is under way and nothing could be started.
    pub(super) fn is_idle(&self) -> bool {
        self.agenda.is_empty() && self.ready.is_empty() && self.tools.is_empty() && self.flights.is_empty()
    }
}

pub(super) fn role_of(part: Part) -> Role {
    match part {
        Part::Plan { .. } => Role::TreePlanner,
        Part::Round { .. } | Part::Tool { .. } | Part::Recall => Role::TreeExecutor,
        Part::Aggregate { .. } => Role::TreeAggregator,
    }
}
