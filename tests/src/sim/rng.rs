//! Random numbers that follow from a seed.

/// SplitMix64. One for each part of a simulation, so that a part's draws do not depend on another's.
#[derive(Debug, Clone)]
pub(super) struct Rng(u64);

impl Rng {
    /// The numbers of one part.
    pub(super) fn new(seed: u64, part: u64) -> Self {
        let mut rng = Self(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.next();
        Self(rng.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `bound`; 0 for a bound of 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// From `least` to `most`, both included.
    pub(super) fn between(&mut self, (least, most): (u64, u64)) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True so many times in a thousand.
    pub(super) fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    /// One of several.
    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}
