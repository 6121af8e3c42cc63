//! The position of an effect within its iteration, and the effect id that spells it.

use crate::effect::EffectId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectPosition {
    Plan {
        fix: bool,
    },
    Tool(usize),
    Repair {
        fix: bool,
    },
    Round {
        executor: usize,
        round: u32,
        fix: bool,
    },
    RoundTool {
        executor: usize,
        round: u32,
        call: usize,
    },
    /// An executor that works as a subagent reads its scratchpad first.
    Recall {
        executor: usize,
    },
    Report,
}

impl EffectPosition {
    /// `tag` makes ids unique across runs, because providers see the calls of all runs.
    pub(crate) fn id(self, tag: &str, iteration: u32) -> EffectId {
        let fixed = |fix| if fix { ".fix" } else { "" };
        EffectId(match self {
            EffectPosition::Plan { fix } => format!("{tag}.i{iteration}.plan{}", fixed(fix)),
            EffectPosition::Tool(index) => format!("{tag}.i{iteration}.t{index}"),
            EffectPosition::Repair { fix } => format!("{tag}.i{iteration}.repair{}", fixed(fix)),
            EffectPosition::Round { executor, round, fix } => {
                format!("{tag}.i{iteration}.x{executor}.r{round}{}", fixed(fix))
            }
            EffectPosition::RoundTool { executor, round, call } => {
                format!("{tag}.i{iteration}.x{executor}.r{round}.t{call}")
            }
            EffectPosition::Recall { executor } => format!("{tag}.i{iteration}.x{executor}.recall"),
            EffectPosition::Report => format!("{tag}.i{iteration}.report"),
        })
    }

    /// The position an id of this iteration spells; `None` for any other id.
    pub(crate) fn of(effect: &EffectId, tag: &str, iteration: u32) -> Option<EffectPosition> {
        let rest = effect.0.strip_prefix(&format!("{tag}.i{iteration}."))?;
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        match *rest.split('.').collect::<Vec<_>>().as_slice() {
            ["plan"] => Some(EffectPosition::Plan { fix: false }),
            ["plan", "fix"] => Some(EffectPosition::Plan { fix: true }),
            ["repair"] => Some(EffectPosition::Repair { fix: false }),
            ["repair", "fix"] => Some(EffectPosition::Repair { fix: true }),
            ["report"] => Some(EffectPosition::Report),
            [x, "recall"] => Some(EffectPosition::Recall { executor: number(x, "x")? as usize }),
            [x, r] if x.starts_with('x') => {
                Some(EffectPosition::Round { executor: number(x, "x")? as usize, round: number(r, "r")?, fix: false })
            }
            [x, r, "fix"] => {
                Some(EffectPosition::Round { executor: number(x, "x")? as usize, round: number(r, "r")?, fix: true })
            }
            [x, r, t] => Some(EffectPosition::RoundTool {
                executor: number(x, "x")? as usize,
                round: number(r, "r")?,
                call: number(t, "t")? as usize,
            }),
            [t] => Some(EffectPosition::Tool(number(t, "t")? as usize)),
            _ => None,
        }
    }
}

impl EffectPosition {
    /// The executor and the round a tool call belongs to.
    pub(crate) fn round_of(effect: &EffectId, tag: &str, iteration: u32) -> Option<(usize, u32)> {
        match EffectPosition::of(effect, tag, iteration)? {
            EffectPosition::RoundTool { executor, round, .. } => Some((executor, round)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_id_parses_to_its_position() {
        for position in [
            EffectPosition::Plan { fix: true },
            EffectPosition::Tool(7),
            EffectPosition::Repair { fix: false },
            EffectPosition::Round { executor: 2, round: 4, fix: true },
            EffectPosition::RoundTool { executor: 0, round: 1, call: 3 },
            EffectPosition::Recall { executor: 2 },
            EffectPosition::Report,
        ] {
            assert_eq!(EffectPosition::of(&position.id("a1", 12), "a1", 12), Some(position));
            assert_eq!(EffectPosition::of(&position.id("a1", 12), "a1", 1), None);
            assert_eq!(EffectPosition::of(&position.id("a1", 12), "b2", 12), None);
        }
    }
}
