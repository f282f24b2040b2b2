//! What is put: one answer of a web server.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::digest::Digest;
use crate::error::InvalidCapture;
use crate::limits;

/// An answer with a payload.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The URL that was asked for: no spaces or control characters, at most [`limits::URL_MAX_SIZE_BYTES`].
    pub url: String,
    /// When the answer was received, in milliseconds since 1970-01-01T00:00:00Z.
    pub captured_at_unix_ms: u64,
    /// The protocol spoken, by its ALPN name (`http/1.1`, `h2`). The stored status line says HTTP/1.1 whatever this is.
    pub protocol: String,
    /// Status code, 100 to 999.
    pub status: u16,
    /// Reason phrase, may be empty.
    pub reason: String,
    /// Headers in the order received, repeated names allowed. Names are tokens (RFC 9110 section 5.6.2); CR, LF and NUL in a value
    /// are stored as spaces (section 5.5).
    pub headers: Vec<(String, Vec<u8>)>,
    /// The address that answered.
    pub peer_addr: Option<SocketAddr>,
    /// The body after transfer decoding and content decoding.
    pub payload: Bytes,
    /// Why the payload ends early, when it does.
    pub truncated: Option<Truncated>,
}

/// An answer 304: the payload is the one already stored under `digest`.
#[derive(Debug, Clone)]
pub struct UnmodifiedCapture {
    /// As in [`Capture::url`].
    pub url: String,
    /// As in [`Capture::captured_at_unix_ms`].
    pub captured_at_unix_ms: u64,
    /// The headers of the 304, as in [`Capture::headers`].
    pub headers: Vec<(String, Vec<u8>)>,
    /// The digest that the URL had before, and keeps.
    pub digest: Digest,
}

/// Why a payload is not whole: the reasons of `WARC-Truncated` (WARC 1.1 section 5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncated {
    /// It was longer than a limit of ours.
    Length,
    /// It took longer than a limit of ours.
    Time,
    /// The connection ended.
    Disconnect,
    /// Some other reason.
    Unspecified,
}

impl Truncated {
    /// The token of `WARC-Truncated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Truncated::Length => "length",
            Truncated::Time => "time",
            Truncated::Disconnect => "disconnect",
            Truncated::Unspecified => "unspecified",
        }
    }

    /// Reads the token; one we do not write counts as unspecified.
    pub(crate) fn from_field(value: &str) -> Truncated {
        match value {
            "length" => Truncated::Length,
            "time" => Truncated::Time,
            "disconnect" => Truncated::Disconnect,
            _ => Truncated::Unspecified,
        }
    }
}

impl Capture {
    /// Refuses what cannot be written as a record; payload size is the store's to judge. Every put does this by itself.
    pub fn check(&self) -> Result<(), InvalidCapture> {
        check_url(&self.url)?;
        if !(100..=999).contains(&self.status) {
            return Err(InvalidCapture::Status(self.status));
        }
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if self.protocol.len() > limits::PROTOCOL_MAX_SIZE_BYTES || !visible(&self.protocol) {
            return Err(InvalidCapture::Protocol);
        }
        if self.reason.len() > limits::REASON_MAX_SIZE_BYTES {
            return Err(InvalidCapture::Reason);
        }
        check_headers(&self.headers)
    }
}

impl UnmodifiedCapture {
    /// Refuses what cannot be written as a record. Every put does this by itself.
    pub fn check(&self) -> Result<(), InvalidCapture> {
        check_url(&self.url)?;
        check_headers(&self.headers)
    }
}

fn check_url(url: &str) -> Result<(), InvalidCapture> {
    if url.is_empty() || url.len() > limits::URL_MAX_SIZE_BYTES {
        return Err(InvalidCapture::UrlLength(url.len()));
    }
    // A line break or a space would end the field and let a URL write fields of its own.
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(InvalidCapture::UrlCharacter);
    }
    Ok(())
}

fn check_headers(headers: &[(String, Vec<u8>)]) -> Result<(), InvalidCapture> {
    let mut size_bytes = 0usize;
    for (name, value) in headers {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(InvalidCapture::HeaderName(name.chars().take(64).collect()));
        }
        // Any name may get the prefix; colon, space and line end are four bytes more.
        let added_bytes = crate::warc::ORIGINAL_PREFIX.len() + 4;
        size_bytes = size_bytes
            .saturating_add(name.len())
            .saturating_add(value.len())
            .saturating_add(added_bytes);
    }
    // The rest of the head: status line and our own length line.
    let ours_bytes = limits::REASON_MAX_SIZE_BYTES + 256;
    if size_bytes > limits::HEAD_MAX_SIZE_BYTES - ours_bytes {
        return Err(InvalidCapture::HeadersSize(size_bytes));
    }
    Ok(())
}

/// RFC 9110 section 5.6.2, `tchar`.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> Capture {
        Capture {
            url: "https://a.example/".to_owned(),
            captured_at_unix_ms: 0,
            protocol: "h2".to_owned(),
            status: 200,
            reason: String::new(),
            headers: vec![("Content-Type".to_owned(), b"text/html".to_vec())],
            peer_addr: None,
            payload: Bytes::new(),
            truncated: None,
        }
    }

    #[test]
    fn what_could_write_fields_of_its_own_is_refused() {
        assert_eq!(capture().check(), Ok(()));
        let urls = [
            "",
            "http://a.example/\r\nWARC-Type: x",
            "http://a.example/a b",
            "http://a.example/\u{85}",
        ];
        for url in urls {
            let refused = Capture {
                url: url.to_owned(),
                ..capture()
            }
            .check();
            assert!(
                matches!(
                    refused,
                    Err(InvalidCapture::UrlLength(0) | InvalidCapture::UrlCharacter)
                ),
                "{url:?}"
            );
        }
        let long = "http://a.example/".to_owned() + &"x".repeat(limits::URL_MAX_SIZE_BYTES);
        assert!(matches!(
            Capture {
                url: long,
                ..capture()
            }
            .check(),
            Err(InvalidCapture::UrlLength(_))
        ));
        assert_eq!(
            Capture {
                status: 99,
                ..capture()
            }
            .check(),
            Err(InvalidCapture::Status(99))
        );
        assert_eq!(
            Capture {
                protocol: "h 2".to_owned(),
                ..capture()
            }
            .check(),
            Err(InvalidCapture::Protocol)
        );
        assert_eq!(
            Capture {
                reason: "x".repeat(513),
                ..capture()
            }
            .check(),
            Err(InvalidCapture::Reason)
        );
        for name in ["", "a b", "a:b", "a\r\nb", "é"] {
            let refused = Capture {
                headers: vec![(name.to_owned(), vec![])],
                ..capture()
            }
            .check();
            assert_eq!(refused, Err(InvalidCapture::HeaderName(name.to_owned())));
        }
        let flood = vec![("Set-Cookie".to_owned(), vec![b'x'; 1_000]); 600];
        assert!(matches!(
            Capture {
                headers: flood,
                ..capture()
            }
            .check(),
            Err(InvalidCapture::HeadersSize(_))
        ));
    }
}
