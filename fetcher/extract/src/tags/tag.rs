//! The tag being read: its name, and values of interest. The tokenizer hands names in lower case, and values with character
//! references decoded.

use std::borrow::Cow;
use std::ops::Range;

/// Start tags that are reported.
pub(crate) const TAGS: [&str; 18] = [
    "a", "area", "link", "base", "meta", "img", "image", "iframe", "frame", "script", "source",
    "video", "audio", "embed", "object", "track", "input", "body",
];

/// Attributes that are kept.
pub(crate) const ATTRIBUTES: [&str; 13] = [
    "href",
    "src",
    "srcset",
    "imagesrcset",
    "rel",
    "name",
    "content",
    "http-equiv",
    "data",
    "poster",
    "background",
    "type",
    "xlink:href",
];

/// Longest name of interest, tag or attribute; longer ones are only known to be others.
const MAX_NAME: usize = 16;

/// One attribute's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Empty for an attribute without a value.
    Text(Cow<'a, str>),
    /// Longer than the limit, and not kept.
    TooLong,
}

/// A tag: filled while it is read, then looked at, then filled again.
#[derive(Debug)]
pub(crate) struct Tag {
    max_value_bytes: usize,
    is_end: bool,
    is_self_closing: bool,
    /// Cut behind [`MAX_NAME`] octets and one.
    name: Vec<u8>,
    /// The name of the attribute being read, cut likewise; empty once it has been looked up.
    attribute_name: Vec<u8>,
    /// The values, one behind the other.
    bytes: Vec<u8>,
    /// Index in [`ATTRIBUTES`] and place in `bytes`; none for a value that was too long. The first of a name counts.
    attributes: Vec<(usize, Option<Range<usize>>)>,
    /// The last of `attributes` is being filled.
    filling: bool,
}

impl Tag {
    pub(super) fn new(max_value_bytes: usize) -> Self {
        Self {
            max_value_bytes,
            is_end: false,
            is_self_closing: false,
            name: Vec::with_capacity(MAX_NAME + 1),
            attribute_name: Vec::with_capacity(MAX_NAME + 1),
            bytes: Vec::new(),
            attributes: Vec::new(),
            filling: false,
        }
    }

    pub(super) fn start(&mut self, is_end: bool) {
        self.is_end = is_end;
        self.is_self_closing = false;
        self.name.clear();
        self.attribute_name.clear();
        self.bytes.clear();
        self.attributes.clear();
        self.filling = false;
    }

    pub(super) fn set_self_closing(&mut self) {
        self.is_self_closing = true;
    }

    pub(super) fn push_name(&mut self, piece: &[u8]) {
        push_bounded(&mut self.name, piece);
    }

    /// Another attribute begins; the one before, if any, may have had no value to end its name.
    pub(super) fn start_attribute(&mut self) {
        self.end_attribute_name();
        self.filling = false;
    }

    pub(super) fn push_attribute_name(&mut self, piece: &[u8]) {
        push_bounded(&mut self.attribute_name, piece);
    }

    /// Looks the attribute's name up; further calls change nothing.
    pub(super) fn end_attribute_name(&mut self) {
        let known = ATTRIBUTES
            .iter()
            .position(|name| name.as_bytes() == self.attribute_name);
        self.attribute_name.clear();
        if let Some(index) = known
            && self.attributes.iter().all(|(seen, _)| *seen != index)
        {
            self.attributes
                .push((index, Some(self.bytes.len()..self.bytes.len())));
            self.filling = true;
        }
    }

    pub(super) fn push_value(&mut self, piece: &[u8]) {
        if !self.filling {
            return;
        }
        let Some((_, place)) = self.attributes.last_mut() else {
            return;
        };
        let Some(range) = place else { return };
        if range.len() + piece.len() > self.max_value_bytes {
            self.bytes.truncate(range.start);
            *place = None;
        } else {
            self.bytes.extend_from_slice(piece);
            range.end = self.bytes.len();
        }
    }

    pub(super) fn is_end(&self) -> bool {
        self.is_end
    }

    pub(super) fn is_self_closing(&self) -> bool {
        self.is_self_closing
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The name of a tag of interest, else empty.
    pub(crate) fn known_name(&self) -> &'static str {
        let mut known = TAGS.into_iter();
        known
            .find(|tag| tag.as_bytes() == self.name)
            .unwrap_or_default()
    }

    /// The value of an attribute of [`ATTRIBUTES`], if the tag has it.
    pub(crate) fn value(&self, name: &str) -> Option<Value<'_>> {
        let (_, place) = self
            .attributes
            .iter()
            .find(|(index, _)| ATTRIBUTES.get(*index) == Some(&name))?;
        let Some(range) = place else {
            return Some(Value::TooLong);
        };
        let value = self.bytes.get(range.clone())?;
        Some(Value::Text(String::from_utf8_lossy(value)))
    }

    /// The value of an attribute as text; none if it is missing or was too long.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            Value::TooLong => None,
        }
    }
}

/// Appends, but no more than shows that the name is none of interest.
fn push_bounded(name: &mut Vec<u8>, piece: &[u8]) {
    let room = (MAX_NAME + 1).saturating_sub(name.len());
    name.extend_from_slice(&piece[..piece.len().min(room)]);
}
