//! SVG and MathML inside HTML: there, `title` and `style` hold ordinary tags, and CDATA sections exist.
//!
//! A simulation without the tree: it follows what opens and closes foreign content, and HTML inside it again.

use crate::limits::MAX_FOREIGN_DEPTH;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    /// HTML inside foreign content (`foreignObject` and the like).
    Html,
    Svg,
    MathMl,
}

/// The nesting of name spaces; empty is HTML.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Space>,
}

impl Foreign {
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.open.last(), Some(Space::Svg | Space::MathMl))
    }

    pub(super) fn start_tag(&mut self, name: &[u8], self_closing: bool) {
        if self.is_foreign() && breaks_out(name) {
            while self.is_foreign() {
                self.open.pop();
            }
            return;
        }
        let opens = match (self.open.last(), name) {
            (_, b"svg") => Some(Space::Svg),
            (_, b"math") => Some(Space::MathMl),
            (Some(Space::Svg), b"foreignobject" | b"desc" | b"title") => Some(Space::Html),
            (Some(Space::MathMl), b"mi" | b"mo" | b"mn" | b"ms" | b"mtext") => Some(Space::Html),
            _ => None,
        };
        if let Some(space) = opens
            && !self_closing
            && self.open.len() < MAX_FOREIGN_DEPTH
        {
            self.open.push(space);
        }
    }

    pub(super) fn end_tag(&mut self, name: &[u8]) {
        let closes = match self.open.last() {
            None => false,
            Some(Space::Svg) => name == b"svg",
            Some(Space::MathMl) => name == b"math",
            Some(Space::Html) => {
                matches!(
                    name,
                    b"foreignobject"
                        | b"desc"
                        | b"title"
                        | b"mi"
                        | b"mo"
                        | b"mn"
                        | b"ms"
                        | b"mtext"
                )
            }
        };
        if closes {
            self.open.pop();
        } else if matches!(name, b"p" | b"br") {
            while self.is_foreign() {
                self.open.pop();
            }
        } else if matches!(name, b"svg" | b"math") && self.open.last() == Some(&Space::Html) {
            // The end of the whole figure, though something inside was left open.
            self.open.pop();
            self.open.pop();
        }
    }
}

/// HTML start tags that end foreign content wherever they stand.
fn breaks_out(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 44] = [
        b"b",
        b"big",
        b"blockquote",
        b"body",
        b"br",
        b"center",
        b"code",
        b"dd",
        b"div",
        b"dl",
        b"dt",
        b"em",
        b"embed",
        b"h1",
        b"h2",
        b"h3",
        b"h4",
        b"h5",
        b"h6",
        b"head",
        b"hr",
        b"i",
        b"img",
        b"li",
        b"listing",
        b"menu",
        b"meta",
        b"nobr",
        b"ol",
        b"p",
        b"pre",
        b"ruby",
        b"s",
        b"small",
        b"span",
        b"strong",
        b"strike",
        b"sub",
        b"sup",
        b"table",
        b"tt",
        b"u",
        b"ul",
        b"var",
    ];
    NAMES.contains(&name)
}
