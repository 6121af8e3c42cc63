//! The position of an effect in the tree, and the effect id that spells it. Every generation of a node has its own
//! effect ids, so that a late answer to an earlier generation is never taken for a current one.

use crate::effect::EffectId;
use crate::ids::NodeNumber;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EffectPosition {
    pub node: NodeNumber,
    pub generation: u32,
    pub part: Part,
}

/// `ask` counts the planner calls of one generation: after each answer from a person it is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
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
            Part::Plan { ask: 1, fix } => format!("{tag}.n{node}.g{generation}.plan{}", fixed(fix)),
            Part::Plan { ask, fix } => format!("{tag}.n{node}.g{generation}.plan.q{ask}{}", fixed(fix)),
            Part::Round { round, fix } => format!("{tag}.n{node}.g{generation}.x.r{round}{}", fixed(fix)),
            Part::Tool { round, call } => format!("{tag}.n{node}.g{generation}.x.r{round}.t{call}"),
            Part::Recall => format!("{tag}.n{node}.g{generation}.recall"),
            Part::Aggregate { fix } => format!("{tag}.n{node}.g{generation}.agg{}", fixed(fix)),
        })
    }

    pub(crate) fn of(effect: &EffectId, tag: &str) -> Option<EffectPosition> {
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        let mut parts = effect.0.strip_prefix(tag)?.strip_prefix('.')?.split('.');
        let node = NodeNumber(number(parts.next()?, "n")?);
        let generation = number(parts.next()?, "g")?;
        let rest: Vec<&str> = parts.collect();
        let part = match rest.as_slice() {
            ["plan"] => Part::Plan { ask: 1, fix: false },
            ["plan", "fix"] => Part::Plan { ask: 1, fix: true },
            ["plan", ask] => Part::Plan { ask: number(ask, "q")?, fix: false },
            ["plan", ask, "fix"] => Part::Plan { ask: number(ask, "q")?, fix: true },
            ["recall"] => Part::Recall,
            ["agg"] => Part::Aggregate { fix: false },
            ["agg", "fix"] => Part::Aggregate { fix: true },
            ["x", round] => Part::Round { round: number(round, "r")?, fix: false },
            ["x", round, "fix"] => Part::Round { round: number(round, "r")?, fix: true },
            ["x", round, call] => Part::Tool { round: number(round, "r")?, call: number(call, "t")? },
            _ => return None,
        };
        Some(EffectPosition { node, generation, part })
    }

    /// The answer this call is to correct, for a correction.
    pub(crate) fn corrects(self) -> Option<EffectPosition> {
        let part = match self.part {
            Part::Plan { ask, fix: true } => Part::Plan { ask, fix: false },
            Part::Round { round, fix: true } => Part::Round { round, fix: false },
            Part::Aggregate { fix: true } => Part::Aggregate { fix: false },
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
            Part::Plan { ask: 1, fix: false },
            Part::Plan { ask: 3, fix: true },
            Part::Round { round: 6, fix: true },
            Part::Tool { round: 2, call: 7 },
            Part::Recall,
            Part::Aggregate { fix: false },
        ] {
            let position = EffectPosition { node: NodeNumber(9_999), generation: 2, part };
            assert_eq!(EffectPosition::of(&position.id("a1"), "a1"), Some(position));
            assert_eq!(EffectPosition::of(&position.id("a1"), "b2"), None);
        }
        assert_eq!(EffectPosition::of(&EffectId("a1.i3.plan".into()), "a1"), None);
    }
}
