//! Percent-encoding in one normal form.
//!
//! Works on a path or query that a WHATWG parser has already encoded:
//!
//! - a triplet of an unreserved character is decoded (RFC 3986 section 6.2.2.2), the hex of any other is upper-cased
//!   (section 6.2.2.1) and the triplet stays, so that reserved characters and their escapes remain two things (section 2.2);
//! - what is neither reserved nor unreserved may not stand and is encoded: the parser leaves `^`, `|` and, in queries,
//!   `\`, `` ` ``, `{` and `}`;
//! - a `%` that starts no triplet stays as it is. A decoded character must not complete one: `%%32e` would
//!   become `%2e`, which means another thing and would be decoded next time. So a hex digit behind such a `%`
//!   stays encoded.
//!
//! Dot segments cannot appear by decoding: the parser has already taken `%2e` for a dot, and a segment that has
//! another character keeps it.

/// Whether output ends in a `%` that starts no triplet.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    /// It does not.
    Closed,
    /// It ends in `%`.
    Percent,
    /// It ends in `%` and one hex digit.
    PercentDigit,
}

/// Appends `text` in normal form. Idempotent: its own output passes unchanged.
pub(crate) fn push_normalized(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut tail = Tail::Closed;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            if let Some(value) = triplet(bytes, at) {
                let would_complete = tail != Tail::Closed && value.is_ascii_hexdigit();
                if is_unreserved(value) && !would_complete {
                    out.push(char::from(value));
                } else {
                    push_encoded(out, value);
                }
                tail = Tail::Closed;
                at += 3;
                continue;
            }
            out.push('%');
            tail = Tail::Percent;
        } else if may_stand(byte) {
            out.push(char::from(byte));
            tail = if tail == Tail::Percent && byte.is_ascii_hexdigit() {
                Tail::PercentDigit
            } else {
                Tail::Closed
            };
        } else {
            push_encoded(out, byte);
            tail = Tail::Closed;
        }
        at += 1;
    }
}

/// The byte that the triplet at `at` stands for, if there is one.
pub(crate) fn triplet(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |offset: usize| {
        bytes
            .get(at + offset)
            .and_then(|&b| char::from(b).to_digit(16))
    };
    let value = digit(1)? << 4 | digit(2)?;
    u8::try_from(value).ok()
}

fn push_encoded(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Unreserved or reserved (RFC 3986 sections 2.2 and 2.3), but for `#`, which would start a fragment.
fn may_stand(byte: u8) -> bool {
    const RESERVED: &[u8] = b":/?[]@!$&'()*+,;=";
    is_unreserved(byte) || RESERVED.contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(text: &str) -> String {
        let mut out = String::new();
        push_normalized(&mut out, text);
        out
    }

    #[test]
    fn triplets() {
        for (input, output) in [
            ("/%7euser/%41%2d%5f", "/~user/A-_"),
            ("/a%2fb%3d%c3%a4", "/a%2Fb%3D%C3%A4"),
            ("/%2541", "/%2541"),
            ("/a^b|c\"<>`{}\\", "/a%5Eb%7Cc%22%3C%3E%60%7B%7D%5C"),
            ("/:/?[]@!$&'()*+,;=-._~", "/:/?[]@!$&'()*+,;=-._~"),
            ("/ä", "/%C3%A4"),
        ] {
            assert_eq!(normalized(input), output);
        }
    }

    #[test]
    fn lone_percent_signs_stay_and_nothing_completes_them() {
        for (input, output) in [
            ("%", "%"),
            ("100%", "100%"),
            ("%+of", "%+of"),
            ("%%", "%%"),
            ("%4", "%4"),
            ("%%32e", "%%32e"),
            ("%2%65", "%2%65"),
            ("%%41%42", "%%41B"),
            ("%%67", "%g"),
            ("%2%67", "%2g"),
            ("%%2565", "%%2565"),
            ("%%2f", "%%2F"),
        ] {
            assert_eq!(normalized(input), output, "{input}");
            assert_eq!(normalized(output), output, "{output} again");
        }
    }
}
