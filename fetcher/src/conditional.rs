//! Validators: what goes out with a conditional request, and what of a response is kept for the next one.

use proto::frontier_v1 as pb;
use reqwest::header::{
    ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};

use crate::limits::MAX_VALIDATOR_BYTES;

/// The request headers that make a request conditional: the stored `ETag` and `Last-Modified`, byte for byte. A
/// `Last-Modified` that is no IMF-fixdate would be a malformed `If-Modified-Since` (RFC 9110 sections 5.6.7, 13.1.3) and is left
/// out; whether it lies in the future is the server's affair, for it only compares.
#[must_use]
pub fn condition(validators: &pb::Validators) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::with_capacity(2);
    if !validators.etag.is_empty()
        && let Ok(value) = HeaderValue::from_str(&validators.etag)
    {
        headers.push((IF_NONE_MATCH, value));
    }
    if is_imf_fixdate(&validators.last_modified)
        && let Ok(value) = HeaderValue::from_str(&validators.last_modified)
    {
        headers.push((IF_MODIFIED_SINCE, value));
    }
    headers
}

/// The validators of a response, exactly as received. Over-long ones and bytes that are no visible ASCII are not kept: the page
/// is fetched whole next time.
#[must_use]
pub fn validators(headers: &HeaderMap) -> pb::Validators {
    let text = |name| {
        let value: Option<&HeaderValue> = headers.get(name);
        let text = value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if text.len() > MAX_VALIDATOR_BYTES {
            String::new()
        } else {
            text.to_owned()
        }
    };
    pb::Validators {
        etag: text(ETAG),
        last_modified: text(LAST_MODIFIED),
    }
}

/// Whether it is `Sun, 06 Nov 1994 08:49:37 GMT` and no other date format.
fn is_imf_fixdate(text: &str) -> bool {
    text.len() == 29
        && text.ends_with(" GMT")
        && text.as_bytes()[3] == b','
        && httpdate::parse_http_date(text).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn sent(etag: &str, last_modified: &str) -> Vec<(String, String)> {
        let validators = pb::Validators {
            etag: etag.to_owned(),
            last_modified: last_modified.to_owned(),
        };
        let text = |(name, value): (HeaderName, HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        condition(&validators).into_iter().map(text).collect()
    }

    /// case G7: only an IMF-fixdate is echoed, exactly; nothing empty is sent.
    #[test]
    fn dates_are_echoed_exactly_or_not_at_all() {
        let good = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(
            sent("", good),
            [("if-modified-since".to_owned(), good.to_owned())]
        );
        for bad in [
            "",
            "1994-11-06T08:49:37Z",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "\n",
        ] {
            assert_eq!(sent("", bad), [], "{bad:?}");
        }
    }

    /// case G8: wrong zones and junk are ignored, the future is opaque.
    #[test]
    fn odd_dates_do_no_harm() {
        assert_eq!(sent("", "Sun, 06 Nov 1994 08:49:37 +0000"), []);
        assert_eq!(sent("", "Invalid date"), []);
        assert_eq!(sent("", "Thu, 01 Jan 2099 00:00:00 GMT").len(), 1);
        assert_eq!(sent("", "Sun, 99 Nov 1994 08:49:37 GMT"), []);
    }

    #[test]
    fn etags_are_echoed_whatever_they_look_like() {
        for etag in ["\"abc\"", "W/\"abc\"", "unquoted", "\"a,b\""] {
            assert_eq!(
                sent(etag, ""),
                [("if-none-match".to_owned(), etag.to_owned())]
            );
        }
        assert_eq!(sent("\"a\nb\"", ""), []);
    }

    /// case B23: a huge header never travels into a report.
    #[test]
    fn validators_are_kept_as_received_and_bounded() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, HeaderValue::from_static("W/\"x\""));
        headers.insert(LAST_MODIFIED, HeaderValue::from_static("whenever"));
        assert_eq!(
            validators(&headers),
            pb::Validators {
                etag: "W/\"x\"".into(),
                last_modified: "whenever".into()
            }
        );
        headers.insert(
            ETAG,
            HeaderValue::from_str(&"x".repeat(MAX_VALIDATOR_BYTES + 1)).unwrap(),
        );
        headers.insert(LAST_MODIFIED, HeaderValue::from_bytes(b"\xff").unwrap());
        assert_eq!(validators(&headers), pb::Validators::default());
    }
}
