//! One tag of interest: which of its attributes are references, and of what class.

use crate::collector::Collector;
use crate::directives::Directives;
use crate::link::LinkClass;
use crate::tags::{Tag, Value};
use crate::{refresh, rel, srcset};

/// What the page has told so far.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) agent: String,
    pub(crate) directives: Directives,
    pub(crate) collector: Collector,
}

impl Page {
    /// Takes in one start tag.
    pub(crate) fn read(&mut self, tag: &Tag) {
        match tag.known_name() {
            "a" | "area" => self.anchor(tag),
            "base" => self.base(tag),
            "meta" => self.meta(tag),
            "link" => self.link(tag),
            "iframe" | "frame" => self.reference(tag, "src", LinkClass::Page),
            "img" | "source" => {
                self.reference(tag, "src", LinkClass::Embed);
                self.source_set(tag, "srcset");
            }
            "image" => ["src", "href", "xlink:href"]
                .into_iter()
                .for_each(|name| self.reference(tag, name, LinkClass::Embed)),
            "video" => ["src", "poster"]
                .into_iter()
                .for_each(|name| self.reference(tag, name, LinkClass::Embed)),
            "script" | "audio" | "embed" | "track" => self.reference(tag, "src", LinkClass::Embed),
            "object" => self.reference(tag, "data", LinkClass::Embed),
            "body" => self.reference(tag, "background", LinkClass::Embed),
            "input"
                if tag
                    .text("type")
                    .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("image")) =>
            {
                self.reference(tag, "src", LinkClass::Embed);
            }
            _ => {}
        }
    }

    /// In SVG an `a` has its address in the older attribute.
    fn anchor(&mut self, tag: &Tag) {
        let nofollow = tag.text("rel").is_some_and(|rel| rel::is_nofollow(&rel));
        match tag.value("href").or_else(|| tag.value("xlink:href")) {
            Some(Value::Text(href)) => self.collector.add(&href, LinkClass::Page, nofollow),
            Some(Value::TooLong) => self.collector.drop_long_attribute(),
            None => {}
        }
    }

    fn base(&mut self, tag: &Tag) {
        match tag.value("href") {
            Some(Value::Text(href)) => self.collector.set_base(&href),
            // It was the first, so no later one counts; the document's own URL is the base.
            Some(Value::TooLong) => {
                self.collector.drop_long_attribute();
                self.collector.set_base("");
            }
            None => {}
        }
    }

    fn meta(&mut self, tag: &Tag) {
        let Some(content) = tag.text("content") else {
            return;
        };
        if let Some(name) = tag.text("name") {
            self.directives.add_meta(&name, &content, &self.agent);
        }
        if tag
            .text("http-equiv")
            .is_some_and(|pragma| pragma.trim().eq_ignore_ascii_case("refresh"))
            && let Some(target) = refresh::target(&content)
        {
            self.collector.add(target, LinkClass::Page, false);
        }
    }

    fn link(&mut self, tag: &Tag) {
        let rel = tag.text("rel").unwrap_or_default();
        let Some(class) = rel::class(&rel, &tag.text("type").unwrap_or_default()) else {
            return;
        };
        match tag.value("href") {
            Some(Value::Text(href)) if !href.trim().is_empty() => {
                self.collector.add(&href, class, rel::is_nofollow(&rel));
            }
            Some(Value::TooLong) => self.collector.drop_long_attribute(),
            _ => {}
        }
        self.source_set(tag, "imagesrcset");
    }

    /// A single address; an empty one names nothing.
    fn reference(&mut self, tag: &Tag, attribute: &str, class: LinkClass) {
        match tag.value(attribute) {
            Some(Value::Text(text)) if !text.trim().is_empty() => {
                self.collector.add(&text, class, false)
            }
            Some(Value::TooLong) => self.collector.drop_long_attribute(),
            _ => {}
        }
    }

    fn source_set(&mut self, tag: &Tag, attribute: &str) {
        match tag.value(attribute) {
            Some(Value::Text(text)) => {
                for candidate in srcset::candidates(&text) {
                    self.collector.add(candidate, LinkClass::Embed, false);
                }
            }
            Some(Value::TooLong) => self.collector.drop_long_attribute(),
            None => {}
        }
    }
}
