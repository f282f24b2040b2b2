//! Lines and the records they hold (RFC 9309 section 2.2).

use crate::limits::{MAX_BODY_BYTES, MAX_LINE_BYTES};

/// One line, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Starts a group or adds an agent to it.
    UserAgent(&'a [u8]),
    /// A rule that allows.
    Allow(&'a [u8]),
    /// A rule that forbids.
    Disallow(&'a [u8]),
    /// Seconds between requests: not in the RFC, honoured as asked.
    CrawlDelay(&'a [u8]),
    /// The address of a sitemap, of no group.
    Sitemap(&'a [u8]),
    /// Nothing but white space and a comment.
    Blank,
    /// Anything else: other records and noise. Ends nothing (section 2.2.4).
    Other,
}

/// The lines of a body: one leading byte-order mark dropped, at most [`MAX_BODY_BYTES`], ends CR, LF or CRLF.
///
/// A CRLF yields an empty line between its halves, which means nothing. A body that is cut loses its last line.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let kept = match body.get(..MAX_BODY_BYTES) {
        Some(start) if body.len() > MAX_BODY_BYTES => {
            let end = start.iter().rposition(is_line_end).map_or(0, |at| at + 1);
            &start[..end]
        }
        _ => body,
    };
    kept.split(is_line_end)
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Reads one line.
pub(crate) fn record(line: &[u8]) -> Record<'_> {
    if line.len() > MAX_LINE_BYTES {
        return Record::Other;
    }
    let code = line
        .split(|b| *b == b'#')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if code.is_empty() {
        return Record::Blank;
    }
    let Some((key, value)) = key_and_value(code) else {
        return Record::Other;
    };
    if is_any(key, &["user-agent", "useragent", "user agent"]) {
        Record::UserAgent(value)
    } else if is_any(
        key,
        &[
            "disallow",
            "dissallow",
            "dissalow",
            "disalow",
            "diasllow",
            "disallaw",
        ],
    ) {
        Record::Disallow(value)
    } else if is_any(key, &["allow"]) {
        Record::Allow(value)
    } else if is_any(key, &["crawl-delay", "crawldelay", "crawl delay"]) {
        Record::CrawlDelay(value)
    } else if is_any(key, &["sitemap", "site-map"]) {
        Record::Sitemap(value)
    } else {
        Record::Other
    }
}

/// Splits at the first colon; without one, between exactly two words.
fn key_and_value(code: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(at) = code.iter().position(|b| *b == b':') {
        return Some((code[..at].trim_ascii(), code[at + 1..].trim_ascii()));
    }
    let at = code.iter().position(u8::is_ascii_whitespace)?;
    let value = code[at..].trim_ascii();
    (!value.iter().any(u8::is_ascii_whitespace)).then_some((&code[..at], value))
}

fn is_any(key: &[u8], names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| key.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records() {
        assert_eq!(
            record(b" \tDISALLOW \t:  /x y \t# why"),
            Record::Disallow(b"/x y")
        );
        assert_eq!(record(b"allow:"), Record::Allow(b""));
        assert_eq!(record(b"User-Agent: a:b"), Record::UserAgent(b"a:b"));
        assert_eq!(record(b"useragent *"), Record::UserAgent(b"*"));
        assert_eq!(record(b"disallow everything here"), Record::Other);
        assert_eq!(
            record(b"Sitemap: https://h.example/s.xml"),
            Record::Sitemap(b"https://h.example/s.xml")
        );
        assert_eq!(record(b"  # allow: /"), Record::Blank);
        assert_eq!(record(b"disallowed: /"), Record::Other);
        assert_eq!(record(b": /"), Record::Other);
    }

    #[test]
    fn every_line_end_and_one_mark() {
        let all: Vec<&[u8]> = lines(b"\xEF\xBB\xBFa\rb\nc\r\nd")
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(all, [b"a", b"b", b"c", b"d"]);
        assert_eq!(
            lines(b"\xEF\xBB\xBF\xEF\xBB\xBFa").next(),
            Some(&b"\xEF\xBB\xBFa"[..])
        );
    }

    #[test]
    fn a_line_beyond_its_limit_is_ignored_whole() {
        let long = [b"Disallow: /".as_slice(), &vec![b'x'; MAX_LINE_BYTES]].concat();
        assert_eq!(record(&long), Record::Other);
    }
}
