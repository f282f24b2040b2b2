//! Zipf-like host sizes with a bounded tail.

use crate::rng::Rng;

/// Draws sizes whose rank-size law is about `size ~ 1/rank`, cut at a largest size.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Scale of the law in thousandths: a size is `scale / u` for uniform `u` in (scale/largest, 1].
    scale_milli: u64,
    largest: u32,
}

/// Resolution of the uniform number.
const ONE: u64 = 1 << 24;

impl Sizes {
    /// Sizes between 1 and `largest` with about the given mean.
    pub(crate) fn new(mean: u32, largest: u32) -> Self {
        let (target, bound) = (f64::from(mean.min(largest)), f64::from(largest));
        let (mut low, mut high) = (0.05_f64.min(bound), bound);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if mean_of(middle, bound) < target {
                low = middle
            } else {
                high = middle
            }
        }
        Self {
            scale_milli: ((low * 1000.0).round() as u64).max(1),
            largest,
        }
    }

    /// One size. A twelfth of the hosts has a single page, however large the mean.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        if rng.below(12) == 0 {
            return 1;
        }
        let least = (self.scale_milli * ONE / 1000 / u64::from(self.largest)).clamp(1, ONE);
        let u = least + (rng.next_u64() >> 16) % (ONE - least + 1);
        let size = self.scale_milli * ONE / (u * 1000);
        size.clamp(1, u64::from(self.largest)) as u32
    }
}

/// Mean of `scale / u` for uniform `u` in (scale/bound, 1].
fn mean_of(scale: f64, bound: f64) -> f64 {
    let share = 1.0 - scale / bound;
    if share < 1e-9 {
        bound
    } else {
        scale * (bound / scale).ln() / share
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn sizes_have_the_mean_the_bound_and_a_heavy_tail() {
        for (mean, largest) in [(8, 60), (20, 500), (40, 400)] {
            let sizes = Sizes::new(mean, largest);
            let drawn: Vec<u32> = (0..50_000)
                .map(|host| sizes.draw(&mut Rng::keyed(3, Purpose::Host, host, 0)))
                .collect();
            let total: u64 = drawn.iter().map(|n| u64::from(*n)).sum();
            let seen = total as f64 / drawn.len() as f64;
            assert!(
                (0.7..1.2).contains(&(seen / f64::from(mean))),
                "{mean}: {seen}"
            );
            assert!(drawn.iter().all(|n| (1..=largest).contains(n)));
            assert!(drawn.contains(&1));
            assert!(drawn.iter().filter(|n| **n > largest / 2).count() > 100);
        }
        assert_eq!(
            Sizes::new(1, 1).draw(&mut Rng::keyed(3, Purpose::Host, 0, 0)),
            1
        );
    }
}
