//! Encoding names inside other text: the `content` of a `meta` element, and the XML declaration.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use super::known;

/// The encoding a declaration in ASCII-readable text can mean: one that says UTF-16 is wrong, and means UTF-8.
pub(super) fn declared(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = known(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

/// `text/html; charset=x` in a `meta` element ("extracting a character encoding from a meta element").
pub(super) fn from_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let at = rest
            .windows(7)
            .position(|w| w.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        let label = match value {
            [quote @ (b'"' | b'\''), inner @ ..] => {
                let end = inner.iter().position(|b| b == quote)?;
                &inner[..end]
            }
            bare => {
                let end = bare
                    .iter()
                    .position(|b| b.is_ascii_whitespace() || *b == b';');
                &bare[..end.unwrap_or(bare.len())]
            }
        };
        return declared(label);
    }
}

/// `<?xml ... encoding="x"` at the very start; and the start of such a declaration in UTF-16 without a mark.
pub(super) fn xml_encoding(start: &[u8]) -> Option<&'static Encoding> {
    if start.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if start.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let rest = start.strip_prefix(b"<?xml")?;
    let declaration = &rest[..rest.iter().position(|b| *b == b'>')?];
    let at = declaration.windows(8).position(|w| w == b"encoding")?;
    let value = declaration[at + 8..]
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let (quote, inner) = value.split_first()?;
    let end = inner.iter().position(|b| b == quote)?;
    (matches!(quote, b'"' | b'\'') && !inner[..end].iter().any(|b| *b <= b' '))
        .then(|| declared(&inner[..end]))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(encoding: Option<&'static Encoding>) -> Option<&'static str> {
        encoding.map(Encoding::name)
    }

    #[test]
    fn contents() {
        assert_eq!(
            name(from_content(b"text/html; charset=koi8-r; x")),
            Some("KOI8-R")
        );
        assert_eq!(
            name(from_content(b"charset CHARSET = 'Shift_JIS'")),
            Some("Shift_JIS")
        );
        assert_eq!(name(from_content(b"charset=utf-16le")), Some("UTF-8"));
        assert_eq!(name(from_content(b"charset=\"utf-8")), None);
        assert_eq!(name(from_content(b"charset=")), None);
        assert_eq!(name(from_content(b"charset")), None);
    }

    #[test]
    fn xml_declarations() {
        assert_eq!(
            name(xml_encoding(
                b"<?xml version='1.0' encoding = \"ISO-8859-2\"?>"
            )),
            Some("ISO-8859-2")
        );
        assert_eq!(
            name(xml_encoding(b"<?xml version='1.0'?><a encoding='koi8-r'>")),
            None
        );
        assert_eq!(name(xml_encoding(b" <?xml encoding='koi8-r'?>")), None);
        assert_eq!(name(xml_encoding(b"<\0?\0x\0")), Some("UTF-16LE"));
        assert_eq!(name(xml_encoding(b"<?xml encoding")), None);
    }
}
