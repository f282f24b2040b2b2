//! A small keyed generator: the same key gives the same numbers on every machine.

/// What a stream of numbers decides; streams of different purpose never share numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Filler = 1,
    Host,
    Robots,
    RobotsText,
    Unit,
    Path,
    Redirect,
    Page,
    Validator,
    Delivery,
    Bytes,
}

/// SplitMix64 (Steele, Lea, Flood 2014), keyed by (seed, purpose, a, b).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The stream of one decision.
    pub(crate) fn keyed(seed: u64, purpose: Purpose, a: u64, b: u64) -> Self {
        let mut key = mix(seed ^ 0x6a09_e667_f3bc_c908);
        for part in [purpose as u64, a, b] {
            key = mix(key ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        Rng(key)
    }

    /// The next 64 bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(bound) * (self.next_u64() >> 32)) >> 32) as u32
    }

    /// A number in `low..=high`; `low` when the range is empty.
    pub(crate) fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True in `permille` of 1000 cases.
    pub(crate) fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < permille
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn same_key_same_numbers_other_key_other_numbers() {
        let draw = |seed, a| {
            let mut rng = Rng::keyed(seed, Purpose::Host, a, 0);
            (rng.next_u64(), rng.next_u64())
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn bounds_hold_and_are_reached() {
        let mut rng = Rng::keyed(1, Purpose::Unit, 0, 0);
        let drawn: Vec<u32> = (0..1000).map(|_| rng.range(3, 7)).collect();
        assert!(drawn.iter().all(|n| (3..=7).contains(n)));
        assert!((3..=7).all(|n| drawn.contains(&n)));
        assert_eq!(rng.below(0), 0);
    }
}
