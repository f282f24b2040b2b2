//! The one form in which paths and patterns are compared, octet by octet (RFC 9309 section 2.2.2).
//!
//! Percent-encoded unreserved characters are decoded; other encodings stay, in upper-case hex; what may not stand raw in a
//! URI (controls, space, non-ASCII, ...) is encoded. Reserved characters and their encodings stay distinct, except `*` and
//! `$`: a rule can write those literally only as `%2A` and `%24`, so in a path both spellings are the same octet.

/// One octet of a path or pattern after decoding what may be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Octet {
    /// Stands for itself.
    Raw(u8),
    /// Stands percent-encoded.
    Encoded(u8),
}

impl Octet {
    /// Appends the octet as it is compared.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Raw(b) | Self::Encoded(b @ (b'*' | b'$')) => out.push(b),
            Self::Encoded(b) => {
                out.extend([b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]])
            }
        }
    }

    /// What it counts for the longest match: one, or three when encoded.
    pub(crate) fn weight(self) -> u32 {
        match self {
            Self::Raw(_) => 1,
            Self::Encoded(_) => 3,
        }
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Walks `text` octet by octet.
pub(crate) fn octets(text: &[u8]) -> impl Iterator<Item = Octet> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (octet, after) = match rest {
            [b'%', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let value = hex_value(*high) << 4 | hex_value(*low);
                (
                    if is_unreserved(value) {
                        Octet::Raw(value)
                    } else {
                        Octet::Encoded(value)
                    },
                    after,
                )
            }
            [byte, after @ ..] if stands_raw(*byte) => (Octet::Raw(*byte), after),
            [byte, after @ ..] => (Octet::Encoded(*byte), after),
            [] => return None,
        };
        rest = after;
        Some(octet)
    })
}

/// The normal form of a path with its query.
pub(crate) fn normal_form(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    octets(path).for_each(|octet| octet.write(&mut out));
    out
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Unreserved, reserved (RFC 3986 section 2.2), or a `%` that starts no encoding.
fn stands_raw(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        String::from_utf8_lossy(&normal_form(text.as_bytes())).into_owned()
    }

    #[test]
    fn one_form() {
        assert_eq!(normal("/%61%7e%2D"), "/a~-");
        assert_eq!(normal("/%2f%e2"), "/%2F%E2");
        assert_eq!(normal("/caf\u{e9} |"), "/caf%C3%A9%20%7C");
        assert_eq!(normal("/%2A%24*$"), "/*$*$");
        assert_eq!(normal("/100%&%zz%2"), "/100%&%zz%2");
        assert_eq!(normal("/a%2Cb,c"), "/a%2Cb,c");
    }
}
