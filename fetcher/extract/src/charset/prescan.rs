//! "Prescan a byte stream to determine its encoding" (HTML standard): `meta` elements in undecoded text.

use encoding_rs::Encoding;

use super::declaration::{declared, from_content};

/// The first usable encoding that a `meta` element in `text` declares.
pub(super) fn prescan(text: &[u8]) -> Option<&'static Encoding> {
    let mut at = Cursor { text, position: 0 };
    while let Some(rest) = at.rest() {
        if rest.starts_with(b"<!--") {
            // The dashes that open a comment may also end it.
            at.skip_past(2, b"-->")?;
        } else if is_tag(rest, b"<meta") {
            at.position += 5;
            if let Some(encoding) = meta(&mut at)? {
                return Some(encoding);
            }
        } else if matches!(rest, [b'<', b'/', c, ..] | [b'<', c, ..] if c.is_ascii_alphabetic()) {
            let name_end = rest
                .iter()
                .position(|b| b.is_ascii_whitespace() || *b == b'>')?;
            at.position += name_end;
            while at.attribute()?.is_some() {}
        } else if matches!(rest, [b'<', b'!' | b'/' | b'?', ..]) {
            at.skip_past(0, b">")?;
        } else {
            at.position += 1;
        }
    }
    None
}

fn is_tag(rest: &[u8], name: &[u8]) -> bool {
    rest.len() > name.len()
        && rest[..name.len()].eq_ignore_ascii_case(name)
        && (rest[name.len()].is_ascii_whitespace() || rest[name.len()] == b'/')
}

/// Reads the attributes of a `meta` element. The outer none means the text ended within it.
fn meta(at: &mut Cursor<'_>) -> Option<Option<&'static Encoding>> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut is_pragma = false;
    let mut from_pragma = None;
    let mut from_charset = None;
    while let Some((name, value)) = at.attribute()? {
        if seen.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => is_pragma = value.eq_ignore_ascii_case(b"content-type"),
            b"content" => from_pragma = from_content(&value),
            b"charset" => from_charset = Some(declared(&value)),
            _ => {}
        }
        seen.push(name);
    }
    // A charset attribute, even one nobody knows, outweighs the pragma.
    Some(match from_charset {
        Some(encoding) => encoding,
        None => from_pragma.filter(|_| is_pragma),
    })
}

struct Cursor<'a> {
    text: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> Option<&[u8]> {
        self.text
            .get(self.position..)
            .filter(|rest| !rest.is_empty())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// Moves behind the next `end`, looked for from `offset` octets on.
    fn skip_past(&mut self, offset: usize, end: &[u8]) -> Option<()> {
        let from = self.position + offset;
        let found = self
            .text
            .get(from..)?
            .windows(end.len())
            .position(|w| w == end)?;
        self.position = from + found + end.len();
        Some(())
    }

    fn skip_blanks(&mut self) -> Option<u8> {
        while self.peek()?.is_ascii_whitespace() {
            self.position += 1;
        }
        self.peek()
    }

    /// "Get an attribute": name and value in lower case, or none at the end of the tag. The outer none means the text ended.
    fn attribute(&mut self) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        while matches!(self.peek()?, b'/') || self.peek()?.is_ascii_whitespace() {
            self.position += 1;
        }
        if self.peek()? == b'>' {
            self.position += 1;
            return Some(None);
        }
        let mut name = Vec::new();
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                b'/' | b'>' => return Some(Some((name, Vec::new()))),
                b if b.is_ascii_whitespace() => {
                    if self.skip_blanks()? != b'=' {
                        return Some(Some((name, Vec::new())));
                    }
                    break;
                }
                b => name.push(b.to_ascii_lowercase()),
            }
            self.position += 1;
        }
        self.position += 1;
        self.skip_blanks()?;
        self.value().map(|value| Some((name, value)))
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let quote = self.peek().filter(|b| matches!(b, b'"' | b'\''));
        self.position += usize::from(quote.is_some());
        loop {
            let byte = self.peek()?;
            match quote {
                Some(quote) if byte == quote => {
                    self.position += 1;
                    return Some(value);
                }
                None if byte == b'>' || byte.is_ascii_whitespace() => return Some(value),
                _ => value.push(byte.to_ascii_lowercase()),
            }
            self.position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<&'static str> {
        prescan(text.as_bytes()).map(Encoding::name)
    }

    #[test]
    fn declarations() {
        assert_eq!(name("<html><META charset='Shift_JIS'>"), Some("Shift_JIS"));
        assert_eq!(
            name("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>"),
            Some("KOI8-R")
        );
        assert_eq!(
            name("<meta content='text/html; charset=koi8-r' http-equiv=Content-Type />"),
            Some("KOI8-R")
        );
        assert_eq!(name("<meta/charset=utf-8>"), Some("UTF-8"));
        assert_eq!(name("<meta charset = utf-8 >"), Some("UTF-8"));
        assert_eq!(name("<meta charset=UTF-16>"), Some("UTF-8"));
        assert_eq!(name("<meta charset=x-user-defined>"), Some("windows-1252"));
    }

    #[test]
    fn what_is_no_declaration() {
        assert_eq!(name("<!-- <meta charset=koi8-r> -->"), None);
        assert_eq!(name("<!--><meta charset=koi8-r>"), Some("KOI8-R"));
        assert_eq!(name("<p title='<meta charset=koi8-r>'>"), None);
        assert_eq!(name("<meta content='text/html; charset=koi8-r'>"), None);
        assert_eq!(
            name("<meta charset=nonsense><meta charset=koi8-r>"),
            Some("KOI8-R")
        );
        assert_eq!(name("<metal charset=koi8-r>"), None);
        assert_eq!(name("<meta charset="), None);
        assert_eq!(name("<meta charset=koi8-r"), None);
        assert_eq!(
            name("<!doctype html><?php <meta ?><a b=c d/><meta charset=utf-8>"),
            Some("UTF-8")
        );
    }
}
