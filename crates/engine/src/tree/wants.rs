//! The effects the tree waits for, read from its ready sets.

use super::effect_id::NodeCall;
use super::state::State;
use crate::effect::EffectId;
use crate::ids::NodeNumber;
use crate::model::Role;
use crate::run::{Shared, Want};

impl State {
    pub(super) fn node_of(&self, effect: &EffectId) -> Option<NodeNumber> {
        self.position_of(effect).map(|position| position.node).filter(|number| number.index() < self.nodes.len())
    }

    pub(super) fn model_want(&self, shared: &Shared, number: NodeNumber, part: NodeCall) -> Want {
        Want {
            effect: self.position(number, part).id(&self.tag),
            role: Some(role_of(part)),
            inline: false,
            wrap_up: self.is_wrap_up(shared, number, part),
        }
    }

    /// After a limit ended the work, the root's aggregation is paid from the wrap-up reserve.
    pub(super) fn is_wrap_up(&self, shared: &Shared, number: NodeNumber, part: NodeCall) -> bool {
        number == NodeNumber::ROOT && matches!(part, NodeCall::Aggregate { .. }) && shared.exhausted.is_some()
    }

    /// Whether nothing is in flight and nothing can be started.
    pub(super) fn is_idle(&self) -> bool {
        self.movable.is_empty() && self.ready.is_empty() && self.tools.is_empty() && self.open_calls.is_empty()
    }
}

pub(super) fn role_of(part: NodeCall) -> Role {
    match part {
        NodeCall::Plan { .. } => Role::TreePlanner,
        NodeCall::Round { .. } | NodeCall::Tool { .. } | NodeCall::Recall => Role::TreeExecutor,
        NodeCall::Aggregate { .. } => Role::TreeAggregator,
    }
}
