//! Elements whose content is text up to their own end tag, and the odd rules of `script`.

use memchr::{memchr, memchr2};

/// Longest name of a raw text element.
const MAX_NAME: usize = 8;

/// Elements that are read so in HTML. Not `noscript` and `noframes`: scripts and frames are off here.
const NAMES: [&[u8]; 7] = [
    b"script",
    b"style",
    b"title",
    b"textarea",
    b"xmp",
    b"iframe",
    b"noembed",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Inside {
    #[default]
    Text,
    /// Behind `<`.
    Less,
    /// Behind `</`, collecting a name.
    EndName,
    /// Behind `<!` in a script.
    Bang,
    /// Behind `<!-` in a script.
    BangDash,
    /// Behind `<` and a letter in an escaped script, collecting a name.
    StartName,
}

/// How far a script has gone into `<!--` and, inside that, `<script`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Escape {
    #[default]
    None,
    Single,
    Double,
}

/// Whether the element goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawOutcome {
    Open,
    /// The element's end tag has been read up to its name.
    EndTag,
}

/// The text of one raw text element.
#[derive(Debug, Default)]
pub(super) struct RawText {
    /// The element's name.
    element: &'static [u8],
    inside: Inside,
    escape: Escape,
    /// Dashes just read in an escaped script, at most two count.
    dashes: u8,
    /// The name being collected, in lower case; one octet more than any element's means "another".
    name: Vec<u8>,
}

impl RawText {
    /// Starts an element if `name` is one of these.
    pub(super) fn enter(&mut self, name: &[u8]) -> bool {
        let Some(element) = NAMES.into_iter().find(|known| *known == name) else {
            return false;
        };
        self.element = element;
        self.inside = Inside::Text;
        self.escape = Escape::None;
        self.dashes = 0;
        true
    }

    /// Reads on; returns how many octets were used.
    pub(super) fn read(&mut self, text: &[u8]) -> (usize, RawOutcome) {
        let mut at = 0;
        while let Some(byte) = text.get(at).copied() {
            if self.inside == Inside::Text {
                let skipped = self.skip(&text[at..]);
                at += skipped;
                if skipped > 0 {
                    continue;
                }
            }
            if self.inside == Inside::EndName && self.ends_element(byte) {
                return (at, RawOutcome::EndTag);
            }
            at += usize::from(self.step(byte));
        }
        (at, RawOutcome::Open)
    }

    /// Octets that change nothing.
    fn skip(&mut self, text: &[u8]) -> usize {
        if self.dashes > 0 {
            return 0;
        }
        let found = match self.escape {
            Escape::None => memchr(b'<', text),
            Escape::Single | Escape::Double => memchr2(b'<', b'-', text),
        };
        found.unwrap_or(text.len())
    }

    fn is_script(&self) -> bool {
        self.element == b"script"
    }

    fn ends_element(&self, byte: u8) -> bool {
        self.escape != Escape::Double && is_delimiter(byte) && self.name == self.element
    }

    /// One octet; false if it must be looked at again as text.
    fn step(&mut self, byte: u8) -> bool {
        match self.inside {
            Inside::Text => {
                self.text(byte);
                return true;
            }
            Inside::Less => match byte {
                b'/' => self.collect(Inside::EndName),
                b'!' if self.is_script() && self.escape == Escape::None => {
                    self.inside = Inside::Bang
                }
                b if b.is_ascii_alphabetic() && self.escape == Escape::Single => {
                    self.collect(Inside::StartName);
                    return false;
                }
                _ => return self.back(),
            },
            Inside::Bang if byte == b'-' => self.inside = Inside::BangDash,
            Inside::BangDash if byte == b'-' => {
                self.escape = Escape::Single;
                self.dashes = 2;
                self.inside = Inside::Text;
            }
            Inside::EndName | Inside::StartName if byte.is_ascii_alphabetic() => {
                if self.name.len() <= MAX_NAME {
                    self.name.push(byte.to_ascii_lowercase());
                }
            }
            Inside::EndName | Inside::StartName if is_delimiter(byte) => {
                if self.name == b"script" {
                    self.escape = match (self.inside, self.escape) {
                        (Inside::StartName, _) => Escape::Double,
                        (_, Escape::Double) => Escape::Single,
                        (_, other) => other,
                    };
                }
                return self.back();
            }
            _ => return self.back(),
        }
        true
    }

    fn text(&mut self, byte: u8) {
        match byte {
            b'<' => {
                self.inside = Inside::Less;
                self.dashes = 0;
            }
            b'-' if self.escape != Escape::None => self.dashes = (self.dashes + 1).min(2),
            b'>' if self.dashes == 2 => {
                self.escape = Escape::None;
                self.dashes = 0;
            }
            _ => self.dashes = 0,
        }
    }

    fn collect(&mut self, inside: Inside) {
        self.name.clear();
        self.inside = inside;
    }

    fn back(&mut self) -> bool {
        self.inside = Inside::Text;
        false
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' | b'>')
}
