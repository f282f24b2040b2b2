//! The canonical spelling of a request's path, so that two spellings are judged as one URL.

/// Decodes percent-encoded unreserved characters (RFC 3986 section 2.3) and upper-cases other escapes.
///
/// Everything else stays: a client resolves dot segments before it asks.
pub(crate) fn canonical_path(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%')
            .then(|| {
                Some((
                    hex_digit(*bytes.get(at + 1)?)?,
                    hex_digit(*bytes.get(at + 2)?)?,
                ))
            })
            .flatten();
        let Some((high, low)) = escape else {
            out.push(bytes[at]);
            at += 1;
            continue;
        };
        let byte = high << 4 | low;
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', upper_digit(high), upper_digit(low)]);
        }
        at += 3;
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

fn upper_digit(digit: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(digit & 15)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::canonical_path;

    #[test]
    fn spellings_meet_and_the_rest_stays() {
        for (given, right) in [
            ("/%64ocs/s1.html", "/docs/s1.html"),
            ("/%7euser", "/~user"),
            ("/%c3%a9", "/%C3%A9"),
            ("/a%2fb", "/a%2Fb"),
            ("/50%", "/50%"),
            ("/%4", "/%4"),
            ("/%zz?b=2&a=%20", "/%zz?b=2&a=%20"),
            ("//x//", "//x//"),
        ] {
            assert_eq!(canonical_path(given), right);
            assert_eq!(canonical_path(right), right);
        }
    }
}
