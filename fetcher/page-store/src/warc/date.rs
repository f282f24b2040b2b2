//! `WARC-Date` (WARC 1.1 section 5.4): UTC, written with milliseconds.

const DAY_MS: u64 = 86_400_000;
/// The first millisecond of the year 10000, which the four-digit form cannot hold.
const YEAR_10000_UNIX_MS: u64 = 253_402_300_800_000;

/// `2026-11-30T10:24:14.123Z`, or nothing after the year 9999.
pub fn format(unix_ms: u64) -> Option<String> {
    if unix_ms >= YEAR_10000_UNIX_MS {
        return None;
    }
    let (year, month, day) = civil_from_days(unix_ms / DAY_MS);
    let ms = unix_ms % DAY_MS;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        ms % 1_000
    ))
}

/// Reads that form; the fraction may be missing or have up to nine digits.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let bytes = text.strip_suffix('Z')?.as_bytes();
    let (main, fraction) = bytes.split_at_checked(19)?;
    for (at, separator) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')] {
        if main.get(at) != Some(&separator) {
            return None;
        }
    }
    let number = |from: usize, to: usize| digits(main.get(from..to)?);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if year < 1970 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_from_civil(year, month, day)?;
    let seconds = hour * 3_600 + minute * 60 + second;
    Some(days * DAY_MS + seconds * 1_000 + fraction_ms(fraction)?)
}

fn fraction_ms(fraction: &[u8]) -> Option<u64> {
    match fraction {
        [] => Some(0),
        [b'.', rest @ ..] if !rest.is_empty() && rest.len() <= 9 => {
            let scale = 10u64.pow(9 - rest.len() as u32);
            Some(digits(rest)? * scale / 1_000_000)
        }
        _ => None,
    }
}

fn digits(bytes: &[u8]) -> Option<u64> {
    bytes.iter().try_fold(0u64, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of January of this year, counted from year 0.
fn days_before_year(year: u64) -> u64 {
    let past = year.saturating_sub(1);
    year * 365 + past / 4 - past / 100 + past / 400 + u64::from(year > 0)
}

const DAYS_TO_1970: u64 = 719_528;

fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || day < 1 || day > month_days(year, month) {
        return None;
    }
    let in_year: u64 = (1..month).map(|earlier| month_days(year, earlier)).sum();
    Some(days_before_year(year) + in_year + day - 1 - DAYS_TO_1970)
}

fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    // 365.2425 days a year; the guess is off by one at most.
    let mut year = days * 10_000 / 3_652_425;
    if days_before_year(year + 1) <= days {
        year += 1;
    }
    if days_before_year(year) > days {
        year -= 1;
    }
    let mut left = days - days_before_year(year);
    let mut month = 1;
    while left >= month_days(year, month) {
        left -= month_days(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments() {
        let moments = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ];
        for (unix_ms, text) in moments {
            assert_eq!(format(unix_ms).as_deref(), Some(text));
            assert_eq!(parse(text), Some(unix_ms));
        }
        assert_eq!(format(YEAR_10000_UNIX_MS), None);
        assert_eq!(format(u64::MAX), None);
        assert_eq!(parse("2023-11-14T22:13:20Z"), Some(1_700_000_000_000));
        assert_eq!(
            parse("2023-11-14T22:13:20.123456789Z"),
            Some(1_700_000_000_123)
        );
    }

    #[test]
    fn nonsense_is_refused() {
        let texts = [
            "",
            "Z",
            "2023-02-29T00:00:00Z",
            "2023-13-01T00:00:00Z",
            "2023-01-00T00:00:00Z",
            "1969-12-31T23:59:59Z",
        ];
        let more = [
            "2023-01-01 00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:00:00",
            "2023-01-01T00:00:00.Z",
            "é023-01-01T00:00:0Z",
        ];
        for text in texts.iter().chain(&more) {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_moment_round_trips(unix_ms in 0..YEAR_10000_UNIX_MS) {
            let text = format(unix_ms);
            prop_assert_eq!(text.and_then(|text| parse(&text)), Some(unix_ms));
        }
    }
}
