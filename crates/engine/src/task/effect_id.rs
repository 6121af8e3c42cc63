//! The position of an effect within its task, and the effect id that spells it.

use crate::effect::EffectId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectPosition {
    /// A continued task asks for its next step again, which is another call with another id.
    NextStep {
        step: u32,
        generation: u32,
        fix: bool,
    },
    PerformStep {
        step: u32,
    },
    ReadScratchpad {
        generation: u32,
    },
    Reflection {
        generation: u32,
    },
    WriteScratchpad {
        generation: u32,
    },
}

impl EffectPosition {
    /// `tag` makes ids unique across runs, because providers see the calls of all runs.
    pub(crate) fn id(self, tag: &str) -> EffectId {
        EffectId(match self {
            EffectPosition::NextStep { step, generation: 0, fix: false } => format!("{tag}.s{step}"),
            EffectPosition::NextStep { step, generation: 0, fix: true } => format!("{tag}.s{step}.fix"),
            EffectPosition::NextStep { step, generation, fix: false } => format!("{tag}.s{step}.g{generation}"),
            EffectPosition::NextStep { step, generation, fix: true } => format!("{tag}.s{step}.g{generation}.fix"),
            EffectPosition::PerformStep { step } => format!("{tag}.s{step}.act"),
            EffectPosition::ReadScratchpad { generation } => format!("{tag}.g{generation}.recall"),
            EffectPosition::Reflection { generation } => format!("{tag}.g{generation}.reflect"),
            EffectPosition::WriteScratchpad { generation } => format!("{tag}.g{generation}.keep"),
        })
    }

    pub(crate) fn of(effect: &EffectId, tag: &str) -> Option<EffectPosition> {
        let rest = effect.0.strip_prefix(tag)?.strip_prefix('.')?;
        let number = |part: &str, prefix: &str| part.strip_prefix(prefix)?.parse::<u32>().ok();
        match *rest.split('.').collect::<Vec<_>>().as_slice() {
            [step] => Some(EffectPosition::NextStep { step: number(step, "s")?, generation: 0, fix: false }),
            [step, "fix"] => Some(EffectPosition::NextStep { step: number(step, "s")?, generation: 0, fix: true }),
            [step, "act"] => Some(EffectPosition::PerformStep { step: number(step, "s")? }),
            [generation, "recall"] => Some(EffectPosition::ReadScratchpad { generation: number(generation, "g")? }),
            [generation, "reflect"] => Some(EffectPosition::Reflection { generation: number(generation, "g")? }),
            [generation, "keep"] => Some(EffectPosition::WriteScratchpad { generation: number(generation, "g")? }),
            [step, generation] => Some(EffectPosition::NextStep {
                step: number(step, "s")?,
                generation: number(generation, "g")?,
                fix: false,
            }),
            [step, generation, "fix"] => Some(EffectPosition::NextStep {
                step: number(step, "s")?,
                generation: number(generation, "g")?,
                fix: true,
            }),
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
            EffectPosition::NextStep { step: 3, generation: 0, fix: false },
            EffectPosition::NextStep { step: 3, generation: 0, fix: true },
            EffectPosition::NextStep { step: 3, generation: 2, fix: false },
            EffectPosition::NextStep { step: 3, generation: 2, fix: true },
            EffectPosition::PerformStep { step: 0 },
            EffectPosition::ReadScratchpad { generation: 1 },
            EffectPosition::Reflection { generation: 0 },
            EffectPosition::WriteScratchpad { generation: 2 },
        ] {
            assert_eq!(EffectPosition::of(&position.id("a1"), "a1"), Some(position));
            assert_eq!(EffectPosition::of(&position.id("a1"), "b2"), None);
        }
    }
}
