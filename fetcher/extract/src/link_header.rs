//! The `Link` field of a response (RFC 8288): targets with their `rel` and type.

use crate::limits::MAX_LINK_HEADER_VALUES;

/// One link of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HeaderLink<'a> {
    pub(crate) target: &'a str,
    /// The first `rel`, as RFC 8288 section 3.3 wants.
    pub(crate) rel: String,
    pub(crate) media_type: String,
}

/// The links of all fields. One that is about another page (`anchor`) is left out, a broken rest of a field ignored.
pub(crate) fn links(fields: &[String]) -> Vec<HeaderLink<'_>> {
    fields
        .iter()
        .flat_map(|field| FieldLinks { rest: field })
        .take(MAX_LINK_HEADER_VALUES)
        .collect()
}

struct FieldLinks<'a> {
    rest: &'a str,
}

impl<'a> Iterator for FieldLinks<'a> {
    type Item = HeaderLink<'a>;

    fn next(&mut self) -> Option<HeaderLink<'a>> {
        loop {
            let text = self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
            let (target, after) = text.strip_prefix('<')?.split_once('>')?;
            let mut link = HeaderLink {
                target: target.trim(),
                ..HeaderLink::default()
            };
            let about_another = self.parameters(after, &mut link);
            if !about_another {
                return Some(link);
            }
        }
    }
}

impl<'a> FieldLinks<'a> {
    /// Reads `; name=value` until the next link; true if there was an `anchor`.
    fn parameters(&mut self, text: &'a str, link: &mut HeaderLink<'a>) -> bool {
        let mut anchored = false;
        let mut rest = text.trim_start();
        while let Some(behind) = rest.strip_prefix(';') {
            let behind = behind.trim_start();
            let end = behind.find(['=', ';', ',']).unwrap_or(behind.len());
            let name = behind[..end].trim().to_ascii_lowercase();
            rest = behind[end..].trim_start();
            let mut value = String::new();
            if let Some(given) = rest.strip_prefix('=') {
                (value, rest) = parameter_value(given.trim_start());
                rest = rest.trim_start();
            }
            match name.as_str() {
                "rel" if link.rel.is_empty() => link.rel = value,
                "type" if link.media_type.is_empty() => link.media_type = value,
                "anchor" => anchored = true,
                _ => {}
            }
        }
        self.rest = rest;
        anchored
    }
}

/// A quoted string or a token, and what follows.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &str) -> Vec<(String, String)> {
        links(&[field.to_owned()])
            .into_iter()
            .map(|link| (link.target.to_owned(), link.rel))
            .collect()
    }

    fn pair(target: &str, rel: &str) -> (String, String) {
        (target.to_owned(), rel.to_owned())
    }

    #[test]
    fn fields() {
        assert_eq!(
            read("</a,b;c>; rel=\"next last\"; title=\"x, <y>; rel=z\", < /d > ;REL = prev;rel=up"),
            [pair("/a,b;c", "next last"), pair("/d", "prev")]
        );
        assert_eq!(read("</a>"), [pair("/a", "")]);
        assert_eq!(
            read("</a>; rel=x; anchor=\"#p\", </b>; rel=y"),
            [pair("/b", "y")]
        );
        assert_eq!(read("</a>; rel=\"a\\\"b"), [pair("/a", "a\"b")]);
        assert_eq!(read("junk, </a>; rel=x"), []);
        assert_eq!(read("</a>; rel=x junk </b>"), [pair("/a", "x junk </b>")]);
        assert_eq!(
            links(&["</a>,".repeat(1_000)]).len(),
            MAX_LINK_HEADER_VALUES
        );
    }
}
