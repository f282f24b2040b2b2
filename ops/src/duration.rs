//! Durations as people write them: `500ms`, `1s`, `2m`, `1.5h`, `7d`.

use std::time::Duration;

/// Longest duration taken.
const MAX_MS: f64 = 366.0 * 86_400_000.0;

/// Parses a number with a unit (ms, s, m, h, d); a bare number is refused, for nobody remembers which unit it has.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor_ms = match unit.trim() {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        "" => {
            return Err(format!(
                "{text:?} has no unit: write 500ms, 1s, 2m, 1h or 1d"
            ));
        }
        other => return Err(format!("{other:?} is not a unit: ms, s, m, h or d")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{text:?} is not a duration such as 500ms or 1s"))?;
    let ms = (number * factor_ms).ceil();
    if ms > MAX_MS {
        return Err(format!("{text:?} is more than 366 days"));
    }
    Ok(Duration::from_millis(ms as u64))
}

/// The same; zero is refused.
pub fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_positive};
    use std::time::Duration;

    #[test]
    fn units_and_fractions() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(parse("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(
            parse("0.0001s"),
            Ok(Duration::from_millis(1)),
            "fractions round up"
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, word) in [
            ("1", "no unit"),
            ("1y", "not a unit"),
            ("s", "not a duration"),
            ("1e9d", "unit"),
            ("999d", "366"),
        ] {
            let error = parse(text).err().unwrap_or_default();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn zero_is_a_duration_but_not_a_positive_one() {
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
        assert!(parse_positive("0ms").is_err() && parse_positive("1ms").is_ok());
    }
}
