//! The position of an effect in the tree, and the effect id that spells it. Every generation of a node has its own
//! effect ids, so that a late answer to an earlier generation is never taken for a current one.

use crate::effect::EffectId;
use crate::ids::NodeNumber;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EffectPosition {
    pub node: NodeNumber,
    pub generation: u32,
    pub part: NodeCall,
}

/// `ask` counts the planner calls of one generation: after each answer from a person it is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeCall {
    Plan {
        ask: u32,
        fix: bool,
    },
    Round {
        round: u32,
        fix: bool,
    },
    Tool {
        round: u32,
        call: u32,
    },
    /// A node that works as a subagent reads its scratchpad first.
    Recall,
    Aggregate {
        fix: bool,
    },
}

impl EffectPosition {
    /// `tag` makes ids unique across runs, because providers see the calls of all runs.
    pub(crate) fn id(self, tag: &str) -> EffectId {
        let fixed = |fix| if fix { ".fix" } else { "" };
        let EffectPosition { node, generation, part } = self;
        EffectId(match part {
            NodeCall::Plan { ask: 1, fix } => format!("{tag}.n{node}.g{generation}.plan{}", fixed(fix)),
            NodeCall::Plan { ask, fix } => format!("{tag}.n{node}.g{generation}.plan.q{ask}{}", fixed(fix)),
            NodeCall::Round { round, fix } => format!("{tag}.n{node}.g{generation}.x.r{round}{}", fixed(fix)),
            NodeCall::Tool { round, call } => format!("{tag}.n{node}.g{generation}.x.r{round}.t{call}"),
            NodeCall::Recall => format!("{tag}.n{node}.g{generation}.recall"),
            NodeCall::Aggregate { fix } => format!("{tag}.n{node}.g{generation}.agg{}", fixed(fix)),
        })
    }

    pub(crate) fn of(effect: &EffectId, tag: &str) -> Option<EffectPosition> {
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        let mut parts = effect.0.strip_prefix(tag)?.strip_prefix('.')?.split('.');
        let node = NodeNumber(number(parts.next()?, "n")?);
        let generation = number(parts.next()?, "g")?;
        let rest: Vec<&str> = parts.collect();
        let part = match rest.as_slice() {
            ["plan"] => NodeCall::Plan { ask: 1, fix: false },
            ["plan", "fix"] => NodeCall::Plan { ask: 1, fix: true },
            ["plan", ask] => NodeCall::Plan { ask: number(ask, "q")?, fix: false },
            ["plan", ask, "fix"] => NodeCall::Plan { ask: number(ask, "q")?, fix: true },
            ["recall"] => NodeCall::Recall,
            ["agg"] => NodeCall::Aggregate { fix: false },
            ["agg", "fix"] => NodeCall::Aggregate { fix: true },
            ["x", round] => NodeCall::Round { round: number(round, "r")?, fix: false },
            ["x", round, "fix"] => NodeCall::Round { round: number(round, "r")?, fix: true },
            ["x", round, call] => NodeCall::Tool { round: number(round, "r")?, call: number(call, "t")? },
            _ => return None,
        };
        Some(EffectPosition { node, generation, part })
    }

    /// The answer this call is to correct, for a correction.
    pub(crate) fn corrects(self) -> Option<EffectPosition> {
        let part = match self.part {
            NodeCall::Plan { ask, fix: true } => NodeCall::Plan { ask, fix: false },
            NodeCall::Round { round, fix: true } => NodeCall::Round { round, fix: false },
            NodeCall::Aggregate { fix: true } => NodeCall::Aggregate { fix: false },
            _ => return None,
        };
        Some(EffectPosition { part, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_id_parses_to_its_position() {
        for part in [
            NodeCall::Plan { ask: 1, fix: false },
            NodeCall::Plan { ask: 3, fix: true },
            NodeCall::Round { round: 6, fix: true },
            NodeCall::Tool { round: 2, call: 7 },
            NodeCall::Recall,
            NodeCall::Aggregate { fix: false },
        ] {
            let position = EffectPosition { node: NodeNumber(9_999), generation: 2, part };
            assert_eq!(EffectPosition::of(&position.id("a1"), "a1"), Some(position));
            assert_eq!(EffectPosition::of(&position.id("a1"), "b2"), None);
        }
        assert_eq!(EffectPosition::of(&EffectId("a1.i3.plan".into()), "a1"), None);
    }
}
