//! The one effect a task waits for.

use super::effect_id::EffectPosition;
use super::state::{Phase, State};
use crate::model::Role;
use crate::run::{Shared, Want};

impl State {
    pub(super) fn wanted(&self, shared: &Shared) -> Option<Want> {
        let generation = shared.generation;
        let (position, role) = match self.phase {
            Phase::NotStarted | Phase::Checking | Phase::Ended => return None,
            Phase::ChoosingStep => (self.choice(generation), Some(Role::AgentStep)),
            Phase::PerformingStep => (EffectPosition::PerformStep { step: self.open_step()?.step }, None),
            Phase::ReadingScratchpad => (EffectPosition::ReadScratchpad { generation }, None),
            Phase::WritingScratchpad => (EffectPosition::WriteScratchpad { generation }, None),
            Phase::Reflecting => (EffectPosition::Reflection { generation }, Some(Role::AgentReflection)),
        };
        let wrap_up = role == Some(Role::AgentReflection);
        Some(Want { effect: position.id(&self.tag), role, inline: role.is_none(), wrap_up })
    }

    /// The call for the next step, or the repair of its rejected answer.
    fn choice(&self, generation: u32) -> EffectPosition {
        EffectPosition::NextStep { step: self.next_step(), generation, fix: self.rejected.is_some() }
    }
}
