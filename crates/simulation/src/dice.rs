//! Seeded random numbers: the same seed gives the same sequence on every machine.

/// SplitMix64: one word of state, good enough to choose among faults.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// An independent sequence for one purpose, so that it does not depend on what was drawn before.
    pub fn about(seed: u64, topic: &str) -> Dice {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let mixed =
            topic.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        let mut dice = Dice(mixed);
        dice.roll();
        dice
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, and without, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.roll() % end }
    }

    /// Both ends included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True that many times in a thousand.
    pub fn happens(&mut self, permille: u32) -> bool {
        self.below(1_000) < u64::from(permille)
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let index = self.below(list.len() as u64) as usize;
        list.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_purposes_are_independent() {
        let rolls = |mut dice: Dice| (0..5).map(|_| dice.below(1_000)).collect::<Vec<_>>();
        assert_eq!(rolls(Dice::new(7)), rolls(Dice::new(7)));
        assert_eq!(rolls(Dice::about(7, "a")), rolls(Dice::about(7, "a")));
        assert_ne!(rolls(Dice::about(7, "a")), rolls(Dice::about(7, "b")));
        assert_ne!(rolls(Dice::about(7, "a")), rolls(Dice::about(8, "a")));
    }
}
