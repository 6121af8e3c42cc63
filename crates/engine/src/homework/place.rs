//! Where an effect stands in its iteration; the id is the place, written down.

use crate::effect::EffectId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
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

impl Place {
    /// `tag` tells runs apart: a provider sees the calls of all of them.
    pub fn id(self, tag: &str, iteration: u32) -> EffectId {
        let fixed = |fix| if fix { ".fix" } else { "" };
        EffectId(match self {
            Place::Plan { fix } => format!("{tag}.i{iteration}.plan{}", fixed(fix)),
            Place::Tool(index) => format!("{tag}.i{iteration}.t{index}"),
            Place::Repair { fix } => format!("{tag}.i{iteration}.repair{}", fixed(fix)),
            Place::Round { executor, round, fix } => format!("{tag}.i{iteration}.x{executor}.r{round}{}", fixed(fix)),
            Place::RoundTool { executor, round, call } => format!("{tag}.i{iteration}.x{executor}.r{round}.t{call}"),
            Place::Recall { executor } => format!("{tag}.i{iteration}.x{executor}.recall"),
            Place::Report => format!("{tag}.i{iteration}.report"),
        })
    }

    /// The place of an id of this iteration; `None` for any other.
    pub fn of(effect: &EffectId, tag: &str, iteration: u32) -> Option<Place> {
        let rest = effect.0.strip_prefix(&format!("{tag}.i{iteration}."))?;
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        match *rest.split('.').collect::<Vec<_>>().as_slice() {
            ["plan"] => Some(Place::Plan { fix: false }),
            ["plan", "fix"] => Some(Place::Plan { fix: true }),
            ["repair"] => Some(Place::Repair { fix: false }),
            ["repair", "fix"] => Some(Place::Repair { fix: true }),
            ["report"] => Some(Place::Report),
            [x, "recall"] => Some(Place::Recall { executor: number(x, "x")? as usize }),
            [x, r] if x.starts_with('x') => {
                Some(Place::Round { executor: number(x, "x")? as usize, round: number(r, "r")?, fix: false })
            }
            [x, r, "fix"] => {
                Some(Place::Round { executor: number(x, "x")? as usize, round: number(r, "r")?, fix: true })
            }
            [x, r, t] => Some(Place::RoundTool {
                executor: number(x, "x")? as usize,
                round: number(r, "r")?,
                call: number(t, "t")? as usize,
            }),
            [t] => Some(Place::Tool(number(t, "t")? as usize)),
            _ => None,
        }
    }
}

impl Place {
    /// The executor and the round a tool call belongs to.
    pub fn round_of(effect: &EffectId, tag: &str, iteration: u32) -> Option<(usize, u32)> {
        match Place::of(effect, tag, iteration)? {
            Place::RoundTool { executor, round, .. } => Some((executor, round)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_and_its_place_are_the_same_thing() {
        for place in [
            Place::Plan { fix: true },
            Place::Tool(7),
            Place::Repair { fix: false },
            Place::Round { executor: 2, round: 4, fix: true },
            Place::RoundTool { executor: 0, round: 1, call: 3 },
            Place::Recall { executor: 2 },
            Place::Report,
        ] {
            assert_eq!(Place::of(&place.id("a1", 12), "a1", 12), Some(place));
            assert_eq!(Place::of(&place.id("a1", 12), "a1", 1), None);
            assert_eq!(Place::of(&place.id("a1", 12), "b2", 12), None);
        }
    }
}
