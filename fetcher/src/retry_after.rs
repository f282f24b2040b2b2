//! `Retry-After` as a duration (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::limits::MAX_RETRY_AFTER_MS;

/// How long the host asks to wait, in ms: a non-negative whole number of seconds, or a date turned into a duration by the
/// response's own `Date`, so that nobody's clock matters; at most 31 days. Of several valid fields the longest wait
/// counts. None: the host did not ask, or asked for nothing that can be understood.
#[must_use]
pub fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let date = headers
        .get(DATE)
        .and_then(|value| http_date(value.as_bytes()));
    let waits = headers
        .get_all(RETRY_AFTER)
        .iter()
        .filter_map(|value| one_ms(value.as_bytes(), date));
    waits
        .max()
        .map(|ms| ms.min(MAX_RETRY_AFTER_MS))
        .filter(|ms| *ms > 0)
}

fn one_ms(value: &[u8], date: Option<SystemTime>) -> Option<u64> {
    let text = value.trim_ascii();
    if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        // More digits than a number has are a very long wait, not a wrong one.
        let seconds: u64 = std::str::from_utf8(text).ok()?.parse().unwrap_or(u64::MAX);
        return Some(seconds.saturating_mul(1_000));
    }
    let until = http_date(text)?;
    let wait = until.duration_since(date?).unwrap_or(Duration::ZERO);
    Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

fn http_date(value: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(value).ok()?.trim()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn asked(values: &[&str], date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
        }
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        retry_after_ms(&headers)
    }

    const NOON: &str = "Sun, 06 Nov 1994 12:00:00 GMT";

    /// case A11
    #[test]
    fn nonsense_is_no_request_and_large_is_clamped() {
        for nothing in [
            "-5",
            "0",
            "abc",
            "",
            "1e12",
            "2.5",
            "+3",
            "12, 60",
            "Sun, 06 Nov 1994 11:59:00 GMT",
        ] {
            assert_eq!(asked(&[nothing], Some(NOON)), None, "{nothing}");
        }
        assert_eq!(asked(&["120"], None), Some(120_000));
        assert_eq!(asked(&[" 7 "], None), Some(7_000));
        assert_eq!(asked(&["1000000000000"], None), Some(MAX_RETRY_AFTER_MS));
        assert_eq!(
            asked(&["99999999999999999999999999"], None),
            Some(MAX_RETRY_AFTER_MS)
        );
        assert_eq!(
            asked(&["Fri, 31 Dec 9999 23:59:59 GMT"], Some(NOON)),
            Some(MAX_RETRY_AFTER_MS)
        );
    }

    #[test]
    fn dates_count_from_the_responses_own_date() {
        assert_eq!(
            asked(&["Sun, 06 Nov 1994 12:02:00 GMT"], Some(NOON)),
            Some(120_000)
        );
        assert_eq!(asked(&["Sun, 06 Nov 1994 12:02:00 GMT"], None), None);
        assert_eq!(
            asked(&["Sunday, 06-Nov-94 12:00:30 GMT"], Some(NOON)),
            Some(30_000)
        );
    }

    #[test]
    fn of_two_fields_the_longer_wait_counts() {
        assert_eq!(asked(&["5", "60"], None), Some(60_000));
        assert_eq!(asked(&["60", "junk"], None), Some(60_000));
        assert_eq!(asked(&[], Some(NOON)), None);
    }
}
