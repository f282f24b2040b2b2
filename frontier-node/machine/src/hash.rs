//! Fixed hashing for host ids and jitter: the same on every replica and in every release.

/// Mixes 64 bits (a bijection, so that different inputs stay different).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}

/// A hash of bytes under a seed. Not keyed: whoever depends on it must bear collisions.
pub(crate) fn bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = mix(seed ^ bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    mix(state)
}

/// Spreads a duration over a quarter of itself, upward if that stays within `cap_ms`, else downward, so that what was
/// delayed together does not come back together, not even at the cap.
pub(crate) fn jitter_ms(duration_ms: u64, cap_ms: u64, hash: u64) -> u64 {
    let quarter = duration_ms / 4;
    let part = ((u128::from(quarter) * u128::from(hash)) >> 64) as u64;
    if duration_ms.saturating_add(quarter) <= cap_ms {
        duration_ms.saturating_add(part)
    } else {
        duration_ms - part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_stays_in_its_quarter_and_under_the_cap() {
        for hash in [0, 1, u64::MAX / 2, u64::MAX] {
            let up = jitter_ms(1_000, 10_000, hash);
            assert!((1_000..=1_250).contains(&up));
            let down = jitter_ms(10_000, 10_000, hash);
            assert!((7_500..=10_000).contains(&down));
            assert!(jitter_ms(u64::MAX, u64::MAX, hash) > u64::MAX / 2);
        }
        assert_eq!(jitter_ms(0, 10, u64::MAX), 0);
    }

    #[test]
    fn hashes_are_pinned() {
        assert_ne!(bytes(0, b"a"), bytes(0, b"b"));
        assert_ne!(bytes(0, b"a"), bytes(1, b"a"));
        assert_ne!(bytes(0, b"a"), bytes(0, b"a\0"));
        assert_eq!(mix(0), 0);
    }
}
