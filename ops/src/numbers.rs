//! Numbers of the command line for which zero makes no sense.

use std::fmt::Display;
use std::str::FromStr;

/// Parses a number above zero.
pub fn positive<T>(text: &str) -> Result<T, String>
where
    T: FromStr + Default + PartialOrd,
    T::Err: Display,
{
    let number: T = text.parse().map_err(|e: T::Err| e.to_string())?;
    if number > T::default() {
        return Ok(number);
    }
    Err("must be more than 0".to_owned())
}

/// Parses a finite number above zero.
pub fn positive_finite(text: &str) -> Result<f64, String> {
    positive(text).and_then(|number: f64| {
        if number.is_finite() {
            Ok(number)
        } else {
            Err("must be finite".to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_what_is_no_number_are_refused() {
        assert_eq!(positive::<u64>("3"), Ok(3));
        assert!(positive::<u64>("0").is_err_and(|why| why.contains("more than 0")));
        assert!(positive::<u64>("-1").is_err() && positive::<u64>("x").is_err());
        assert_eq!(positive_finite("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf"] {
            assert!(positive_finite(text).is_err(), "{text}");
        }
    }
}
