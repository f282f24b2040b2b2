//! What the tokenizer reports to: keeps the tag being read, and tells the tokenizer how to go on behind it.
//!
//! The few rules of tree construction that change how text is read are simulated: raw text elements (`script`, `style`,
//! `title`, ...) and foreign content (SVG, MathML). Text, comments, doctypes and errors are ignored.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State};

use super::foreign::Foreign;
use super::tag::Tag;

/// Hands start tags of interest to a sink.
#[derive(Debug)]
pub(super) struct TagEmitter<F> {
    tag: Tag,
    /// The raw text element that is open; only its own end tag ends it.
    raw_element: Vec<u8>,
    foreign: Foreign,
    /// Self-closing tags close, as in XML.
    xml: bool,
    sink: F,
}

impl<F: FnMut(&Tag)> TagEmitter<F> {
    pub(super) fn new(max_value_bytes: usize, xml: bool, sink: F) -> Self {
        Self {
            tag: Tag::new(max_value_bytes),
            raw_element: Vec::new(),
            foreign: Foreign::default(),
            xml,
            sink,
        }
    }
}

impl<F: FnMut(&Tag)> Emitter for TagEmitter<F> {
    type Token = Infallible;

    fn init_start_tag(&mut self) {
        self.tag.start(false);
    }

    fn init_end_tag(&mut self) {
        self.tag.start(true);
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.push_name(name);
    }

    fn set_self_closing(&mut self) {
        self.tag.set_self_closing();
    }

    fn init_attribute(&mut self) {
        self.tag.start_attribute();
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        self.tag.push_attribute_name(name);
    }

    fn init_attribute_value(&mut self) {
        self.tag.end_attribute_name();
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        self.tag.push_value(value);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.tag.end_attribute_name();
        if self.tag.is_end() {
            self.foreign.end_tag(self.tag.name());
            return None;
        }
        // What opens HTML inside foreign content (an SVG `title`) is itself still foreign.
        let in_html = !self.foreign.is_foreign();
        let self_closing = self.tag.is_self_closing();
        self.foreign.start_tag(self.tag.name(), self_closing);
        if !self.tag.known_name().is_empty() {
            (self.sink)(&self.tag);
        }
        let state =
            content_state(self.tag.name()).filter(|_| in_html && !(self.xml && self_closing))?;
        self.raw_element.clear();
        self.raw_element.extend_from_slice(self.tag.name());
        Some(state)
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end() && self.tag.name() == self.raw_element
    }

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.raw_element.clear();
        self.raw_element.extend_from_slice(name.unwrap_or_default());
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.xml || self.foreign.is_foreign()
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn emit_error(&mut self, _: Error) {}
    fn emit_eof(&mut self) {}
    fn emit_string(&mut self, _: &[u8]) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn set_force_quirks(&mut self) {}
    fn emit_current_doctype(&mut self) {}
}

/// How the content of an element is read, unless as ordinary markup. Not `noscript`: scripts are off here.
fn content_state(element: &[u8]) -> Option<State> {
    match element {
        b"title" | b"textarea" => Some(State::RcData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        b"script" => Some(State::ScriptData),
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}
