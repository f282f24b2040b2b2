//! Natural logarithm in integers, so that every platform agrees to the last bit.

/// ln 2 in units of 2^-32.
const LN_2: u128 = 2_977_044_472;

/// ln(numerator / denominator) in units of 2^-32, rounded down; 0 when the ratio is not above one.
pub(crate) fn ln_ratio(numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 || numerator <= denominator {
        return 0;
    }
    // A number in [1, 2) with 62 bits after the point, and how often the ratio was halved to get there.
    let whole = (u128::from(numerator) << 62) / u128::from(denominator);
    let halvings = u128::BITS - 1 - whole.leading_zeros() - 62;
    let mut mantissa = whole >> halvings;
    let mut log2 = u128::from(halvings) << 32;
    for bit in (0..32).rev() {
        mantissa = (mantissa * mantissa) >> 62;
        if mantissa >> 63 != 0 {
            mantissa >>= 1;
            log2 |= 1 << bit;
        }
    }
    ((log2 * LN_2) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_known_logarithms() {
        let one = 1u64 << 32;
        // ln 2, ln 3, ln 10, ln 1.01, rounded to 2^-32.
        for (n, d, expected) in [
            (2, 1, 2_977_044_472),
            (3, 1, 4_718_503_850),
            (10, 1, 9_889_527_670),
            (101, 100, 42_736_345),
        ] {
            let got = ln_ratio(n, d);
            assert!(
                got.abs_diff(expected) <= 8,
                "ln({n}/{d}) = {got}, expected {expected}"
            );
        }
        assert_eq!(ln_ratio(1, 1), 0);
        assert_eq!(ln_ratio(1, 2), 0);
        assert_eq!(ln_ratio(1, 0), 0);
        assert!(ln_ratio(u64::MAX, 1) > 44 * one);
    }

    #[test]
    fn rises_with_the_ratio() {
        let mut last = 0;
        for n in 101..2_000 {
            let got = ln_ratio(n, 100);
            assert!(got >= last);
            last = got;
        }
    }
}
