//! Where an effect stands in its errand; the id is the place, written down.

use crate::effect::EffectId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A continued errand asks for its next step anew: that is another call.
    Choose {
        step: u32,
        generation: u32,
        fix: bool,
    },
    Act {
        step: u32,
    },
    Recall {
        generation: u32,
    },
    Reflect {
        generation: u32,
    },
    Keep {
        generation: u32,
    },
}

impl Place {
    /// `tag` tells runs apart: a provider sees the calls of all of them.
    pub fn id(self, tag: &str) -> EffectId {
        EffectId(match self {
            Place::Choose { step, generation: 0, fix: false } => format!("{tag}.s{step}"),
            Place::Choose { step, generation: 0, fix: true } => format!("{tag}.s{step}.fix"),
            Place::Choose { step, generation, fix: false } => format!("{tag}.s{step}.g{generation}"),
            Place::Choose { step, generation, fix: true } => format!("{tag}.s{step}.g{generation}.fix"),
            Place::Act { step } => format!("{tag}.s{step}.act"),
            Place::Recall { generation } => format!("{tag}.g{generation}.recall"),
            Place::Reflect { generation } => format!("{tag}.g{generation}.reflect"),
            Place::Keep { generation } => format!("{tag}.g{generation}.keep"),
        })
    }

    pub fn of(effect: &EffectId, tag: &str) -> Option<Place> {
        let rest = effect.0.strip_prefix(tag)?.strip_prefix('.')?;
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        match *rest.split('.').collect::<Vec<_>>().as_slice() {
            [step] => Some(Place::Choose { step: number(step, "s")?, generation: 0, fix: false }),
            [step, "fix"] => Some(Place::Choose { step: number(step, "s")?, generation: 0, fix: true }),
            [step, "act"] => Some(Place::Act { step: number(step, "s")? }),
            [generation, "recall"] => Some(Place::Recall { generation: number(generation, "g")? }),
            [generation, "reflect"] => Some(Place::Reflect { generation: number(generation, "g")? }),
            [generation, "keep"] => Some(Place::Keep { generation: number(generation, "g")? }),
            [step, generation] => {
                Some(Place::Choose { step: number(step, "s")?, generation: number(generation, "g")?, fix: false })
            }
            [step, generation, "fix"] => {
                Some(Place::Choose { step: number(step, "s")?, generation: number(generation, "g")?, fix: true })
            }
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
            Place::Choose { step: 3, generation: 0, fix: false },
            Place::Choose { step: 3, generation: 0, fix: true },
            Place::Choose { step: 3, generation: 2, fix: false },
            Place::Choose { step: 3, generation: 2, fix: true },
            Place::Act { step: 0 },
            Place::Recall { generation: 1 },
            Place::Reflect { generation: 0 },
            Place::Keep { generation: 2 },
        ] {
            assert_eq!(Place::of(&place.id("a1"), "a1"), Some(place));
            assert_eq!(Place::of(&place.id("a1"), "b2"), None);
        }
    }
}
