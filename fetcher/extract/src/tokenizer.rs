//! Start tags of HTML, out of UTF-8 that arrives in pieces (HTML standard, "tokenization").
//!
//! A push machine: the state after an octet depends on nothing but the octets so far, so the cut of the pieces cannot
//! matter. It reports start tags of interest ([`tag::TAGS`]) with attributes of interest ([`tag::ATTRIBUTES`]), values
//! undecoded. Memory is bounded by the attribute limit times the attributes of interest.
//!
//! The few rules of tree construction that change how text is read are simulated: raw text elements (`script`, `style`,
//! `title`, ...) and foreign content (SVG, MathML). A tag that the end of input cuts is dropped, as the standard says.

mod comment;
mod foreign;
mod raw_text;
mod tag;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use comment::Comment;
use foreign::Foreign;
use memchr::memchr;
use raw_text::{RawOutcome, RawText};
pub(crate) use tag::{Tag, Value};

/// Where the machine stands between two octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Data,
    TagOpen,
    EndTagOpen,
    TagName,
    BeforeAttributeName,
    AttributeName,
    AfterAttributeName,
    BeforeAttributeValue,
    QuotedValue(u8),
    UnquotedValue,
    AfterQuotedValue,
    SelfClosing,
    /// Behind `<!`.
    MarkupDeclaration,
    /// A comment without dashes, a doctype or a processing instruction: up to the next `>`.
    Bogus,
    Comment(Comment),
    /// Behind `<![`, with so many octets of `CDATA[` seen.
    CdataOpen(usize),
    /// In a CDATA section, with so many octets of its end seen.
    Cdata(u8),
    Raw,
    Plaintext,
}

/// What to do with the octet just looked at.
#[derive(PartialEq, Eq)]
enum Step {
    Consumed,
    /// Look at it again in the new state.
    Again,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    state: State,
    /// Self-closing tags close, as in XML.
    xml: bool,
    tag: Tag,
    foreign: Foreign,
    raw: RawText,
}

impl Tokenizer {
    /// At the start of a document. Values longer than `max_value_bytes` are marked, not kept.
    pub(crate) fn new(max_value_bytes: usize, xml: bool) -> Self {
        Self {
            state: State::Data,
            xml,
            tag: Tag::new(max_value_bytes),
            foreign: Foreign::default(),
            raw: RawText::default(),
        }
    }

    /// Reads a piece, calling `sink` for each start tag of interest that ends in it.
    pub(crate) fn push(&mut self, text: &[u8], sink: &mut dyn FnMut(&Tag)) {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            at += match self.state {
                State::Data => self.skip_to(rest, b'<', State::TagOpen),
                State::Bogus => self.skip_to(rest, b'>', State::Data),
                State::Plaintext => rest.len(),
                State::QuotedValue(quote) => {
                    let end = memchr(quote, rest);
                    self.tag.push_value(&rest[..end.unwrap_or(rest.len())]);
                    if end.is_some() {
                        self.state = State::AfterQuotedValue;
                    }
                    end.map_or(rest.len(), |end| end + 1)
                }
                State::Raw => self.raw(rest),
                State::Comment(Comment::Text) if rest[0] != b'-' => {
                    memchr(b'-', rest).unwrap_or(rest.len())
                }
                _ => usize::from(self.step(rest[0], sink) == Step::Consumed),
            };
        }
    }

    /// Skips behind the next `stop`, and changes state there.
    fn skip_to(&mut self, rest: &[u8], stop: u8, next: State) -> usize {
        match memchr(stop, rest) {
            Some(found) => {
                self.state = next;
                found + 1
            }
            None => rest.len(),
        }
    }

    fn raw(&mut self, rest: &[u8]) -> usize {
        let (used, outcome) = self.raw.read(rest);
        if outcome == RawOutcome::EndTag {
            // The octet behind the name is not used up: it says how the end tag goes on.
            self.tag.start(true);
            self.state = State::BeforeAttributeName;
        }
        used
    }

    fn step(&mut self, byte: u8, sink: &mut dyn FnMut(&Tag)) -> Step {
        match self.state {
            State::TagOpen | State::EndTagOpen | State::MarkupDeclaration | State::CdataOpen(_) => {
                self.open(byte)
            }
            State::Comment(comment) => {
                self.state = comment.next(byte).map_or(State::Data, State::Comment);
                Step::Consumed
            }
            State::Cdata(brackets) => {
                self.state = match (byte, brackets) {
                    (b']', n) => State::Cdata((n + 1).min(2)),
                    (b'>', 2) => State::Data,
                    _ => State::Cdata(0),
                };
                Step::Consumed
            }
            _ => self.inside_tag(byte, sink),
        }
    }

    /// Behind `<`: a tag, a comment, or text after all.
    fn open(&mut self, byte: u8) -> Step {
        let (next, step) = match (self.state, byte) {
            (State::TagOpen, b'!') => (State::MarkupDeclaration, Step::Consumed),
            (State::TagOpen, b'/') => (State::EndTagOpen, Step::Consumed),
            (State::TagOpen, b'?') => (State::Bogus, Step::Consumed),
            (State::TagOpen | State::EndTagOpen, b) if b.is_ascii_alphabetic() => {
                self.tag.start(self.state == State::EndTagOpen);
                (State::TagName, Step::Again)
            }
            (State::TagOpen, _) => (State::Data, Step::Again),
            (State::EndTagOpen, b'>') => (State::Data, Step::Consumed),
            (State::MarkupDeclaration, b'-') => (State::Comment(Comment::Opening), Step::Consumed),
            (State::MarkupDeclaration, b'[') if self.xml || self.foreign.is_foreign() => {
                (State::CdataOpen(0), Step::Consumed)
            }
            (State::CdataOpen(seen), b) if b"CDATA["[seen] == b => {
                let whole = seen + 1 == b"CDATA[".len();
                (
                    if whole {
                        State::Cdata(0)
                    } else {
                        State::CdataOpen(seen + 1)
                    },
                    Step::Consumed,
                )
            }
            _ => (State::Bogus, Step::Again),
        };
        self.state = next;
        step
    }

    /// From the tag's name to its `>`.
    fn inside_tag(&mut self, byte: u8, sink: &mut dyn FnMut(&Tag)) -> Step {
        let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c');
        let (next, step) = match (self.state, byte) {
            (State::TagName, b) if !blank && b != b'/' && b != b'>' => {
                self.tag.push_name(b);
                (State::TagName, Step::Consumed)
            }
            (State::TagName, _) => {
                self.tag.end_name();
                (State::BeforeAttributeName, Step::Again)
            }
            (State::BeforeAttributeName | State::AfterAttributeName, _) if blank => {
                (self.state, Step::Consumed)
            }
            (State::BeforeAttributeName | State::AfterAttributeName, b'/') => {
                (State::SelfClosing, Step::Consumed)
            }
            (State::AfterAttributeName, b'=') => (State::BeforeAttributeValue, Step::Consumed),
            (State::AttributeName, b'=') => {
                self.tag.end_attribute_name();
                (State::BeforeAttributeValue, Step::Consumed)
            }
            (State::AttributeName, b) if blank || b == b'/' || b == b'>' => {
                self.tag.end_attribute_name();
                (State::AfterAttributeName, Step::Again)
            }
            (State::AttributeName, b) => {
                self.tag.push_attribute_name(b);
                (State::AttributeName, Step::Consumed)
            }
            (State::BeforeAttributeValue, _) if blank => (self.state, Step::Consumed),
            (State::BeforeAttributeValue, b'"' | b'\'') => {
                (State::QuotedValue(byte), Step::Consumed)
            }
            (State::UnquotedValue, _) if blank => (State::BeforeAttributeName, Step::Consumed),
            (_, b'>') => return self.close(sink),
            (State::BeforeAttributeValue | State::UnquotedValue, b) => {
                self.tag.push_value(&[b]);
                (State::UnquotedValue, Step::Consumed)
            }
            (State::AfterQuotedValue | State::SelfClosing, _) => {
                (State::BeforeAttributeName, Step::Again)
            }
            // Before or after an attribute's name: another one starts, even with `=`.
            (_, b) => {
                self.tag.start_attribute();
                self.tag.push_attribute_name(b);
                (State::AttributeName, Step::Consumed)
            }
        };
        self.state = next;
        step
    }

    /// At a tag's `>`.
    fn close(&mut self, sink: &mut dyn FnMut(&Tag)) -> Step {
        let self_closing = self.state == State::SelfClosing;
        self.state = State::Data;
        if self.tag.is_end() {
            self.foreign.end_tag(self.tag.name());
            return Step::Consumed;
        }
        // What opens HTML inside foreign content (an SVG `title`) is itself still foreign.
        let in_html = !self.foreign.is_foreign();
        self.foreign.start_tag(self.tag.name(), self_closing);
        if self.tag.is_of_interest() {
            sink(&self.tag);
        }
        if in_html && !(self.xml && self_closing) {
            if self.tag.name() == b"plaintext" {
                self.state = State::Plaintext;
            } else if self.raw.enter(self.tag.name()) {
                self.state = State::Raw;
            }
        }
        Step::Consumed
    }
}
