//! `Crawl-delay` values: a decimal number of seconds, to whole milliseconds, rounded up and exact.

use crate::limits::MAX_CRAWL_DELAY_MS;

/// The asked delay in milliseconds, rounded up, at most [`MAX_CRAWL_DELAY_MS`]. Anything that is not a finite, non-negative
/// decimal (`inf`, `-5`, `2.5s`, `1,000`, empty) is none. Computed on digits: through a float 0.07 s would be 71 ms.
pub(crate) fn parse_delay_ms(value: &[u8]) -> Option<u64> {
    let value = value.strip_prefix(b"+").unwrap_or(value);
    let mantissa_len = value
        .iter()
        .position(|b| matches!(b, b'e' | b'E'))
        .unwrap_or(value.len());
    let (mantissa, exponent) = value.split_at(mantissa_len);
    let exponent = match exponent {
        [] => 0,
        [_, digits @ ..] => parse_exponent(digits)?,
    };
    let point = mantissa
        .iter()
        .position(|b| *b == b'.')
        .unwrap_or(mantissa.len());
    let (whole, fraction) = (
        &mantissa[..point],
        mantissa.get(point + 1..).unwrap_or_default(),
    );
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // So many of the digits stand before the point once seconds are milliseconds.
    let kept = (whole.len() as i64)
        .saturating_add(exponent)
        .saturating_add(3);
    Some(round_up(&digits, kept).min(MAX_CRAWL_DELAY_MS))
}

/// An optional sign and digits; an absurd size saturates.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0i64, |n, d| {
        n.saturating_mul(10).saturating_add(i64::from(d - b'0'))
    });
    Some(if negative { -size } else { size })
}

/// The number written by the first `kept` digits (zeros follow the last one), plus one if a later digit is not zero.
fn round_up(digits: &[u8], kept: i64) -> u64 {
    if digits.iter().all(|d| *d == b'0') {
        return 0;
    }
    let split = usize::try_from(kept).unwrap_or(0).min(digits.len());
    let mut number = digits[..split].iter().fold(0u64, |n, d| {
        n.saturating_mul(10).saturating_add(u64::from(d - b'0'))
    });
    if digits[split..].iter().any(|d| *d != b'0') {
        number = number.saturating_add(1);
    }
    // Beyond 20 zeros every number is past the clamp.
    for _ in 0..kept.saturating_sub(split as i64).clamp(0, 20) {
        number = number.saturating_mul(10);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// case A8: junk is ignored, huge is clamped, nothing panics.
    #[test]
    fn only_finite_non_negative_decimals_count() {
        for junk in [
            "inf", "-inf", "nan", "-5", "-0.1", "abc", "1,000", "2.5s", "", ".", "e5", "1e", "1e+",
            "0x10", "1 2", "1.2.3",
        ] {
            assert_eq!(parse_delay_ms(junk.as_bytes()), None, "{junk:?}");
        }
        for huge in [
            "1e300",
            "1e99999999999999999999",
            "99999999999999999999999",
            "2678401",
        ] {
            assert_eq!(
                parse_delay_ms(huge.as_bytes()),
                Some(MAX_CRAWL_DELAY_MS),
                "{huge:?}"
            );
        }
    }

    /// case A7: fractions round up; what is asked is kept.
    #[test]
    fn fractions_are_exact_and_round_up() {
        for (text, ms) in [
            ("900", 900_000),
            ("2.5", 2_500),
            ("0", 0),
            ("0.0", 0),
            ("0.07", 70),
            ("1.0001", 1_001),
            ("0.0000001", 1),
            (".5", 500),
            ("5.", 5_000),
            ("+3", 3_000),
            ("1e1", 10_000),
            ("25E-1", 2_500),
            ("1e-9", 1),
            ("0e999", 0),
            ("000010", 10_000),
            ("0.9999", 1_000),
        ] {
            assert_eq!(parse_delay_ms(text.as_bytes()), Some(ms), "{text:?}");
        }
    }
}
