//! The wall clock that replicas agree on: the median of theirs, so that one wrong clock moves no revisit and no budget.

use std::time::Instant;

use crate::clock::Clocks;

/// What was last heard of another node's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledWall {
    /// Its clock now, as far as is known: the sample plus its age. Unix ms.
    pub wall_unix_ms: u64,
    /// How old the sample is, ms.
    pub age_ms: u64,
}

/// Samples older than this say nothing, ms.
const LONGEST_AGE_MS: u64 = 10_000;

/// A node's own clocks, its wall clock replaced by the agreed one.
pub struct AgreedWall<C, S> {
    own: C,
    samples: S,
}

impl<C, S> AgreedWall<C, S> {
    /// This node's clocks, and where the others' samples come from.
    pub const fn new(own: C, samples: S) -> Self {
        Self { own, samples }
    }
}

impl<C, S> Clocks for AgreedWall<C, S>
where
    C: Clocks,
    S: Fn() -> Vec<SampledWall> + Send + Sync + 'static,
{
    fn now(&self) -> Instant {
        self.own.now()
    }

    fn wall_unix_ms(&self) -> u64 {
        let others = (self.samples)();
        let fresh = others.iter().filter(|s| s.age_ms <= LONGEST_AGE_MS);
        let walls = fresh.map(|s| s.wall_unix_ms);
        lower_median(walls.chain([self.own.wall_unix_ms()]).collect())
    }
}

/// The median; of an even number the lower one of the two.
fn lower_median(mut walls: Vec<u64>) -> u64 {
    walls.sort_unstable();
    let place = walls.len().saturating_sub(1) / 2;
    walls.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct At(u64);

    impl Clocks for At {
        fn now(&self) -> Instant {
            Instant::now()
        }

        fn wall_unix_ms(&self) -> u64 {
            self.0
        }
    }

    fn agreed(own: u64, others: &[(u64, u64)]) -> u64 {
        let samples: Vec<_> = others
            .iter()
            .map(|&(wall_unix_ms, age_ms)| SampledWall {
                wall_unix_ms,
                age_ms,
            })
            .collect();
        AgreedWall::new(At(own), move || samples.clone()).wall_unix_ms()
    }

    #[test]
    fn one_wrong_clock_of_three_moves_nothing() {
        assert_eq!(agreed(1_000, &[(1_002, 5), (9_999_999, 5)]), 1_002);
        assert_eq!(agreed(9_999_999, &[(1_002, 5), (1_000, 5)]), 1_002);
        assert_eq!(agreed(0, &[(1_002, 5), (1_000, 5)]), 1_000);
    }

    #[test]
    fn of_two_the_lower_and_of_one_its_own() {
        assert_eq!(agreed(1_000, &[(900, 5)]), 900);
        assert_eq!(agreed(800, &[(900, 5)]), 800);
        assert_eq!(agreed(1_000, &[]), 1_000);
        // Too old to be heard.
        assert_eq!(agreed(1_000, &[(900, 10_001), (2_000, 10_000)]), 1_000);
    }
}
