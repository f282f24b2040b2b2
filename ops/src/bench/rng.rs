//! Numbers that look random and are the same in each run.

/// The finaliser of SplitMix64: a bijection, so different inputs give different outputs.
pub const fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The number's share of all numbers, from 0 to below 1.
pub fn share(mixed: u64) -> f64 {
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_spread_evenly() {
        let mean = (0..10_000).map(|n| share(mix(n))).sum::<f64>() / 10_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
        assert!(share(u64::MAX) < 1.0);
    }
}
