//! The `content` of a refresh: a delay and perhaps an address (HTML standard, "shared declarative refresh steps").

/// The address, if there is one: without, the page reloads itself.
pub(crate) fn target(content: &str) -> Option<&str> {
    let text = content.trim_start_matches(blank);
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == text.len() && !text.starts_with('.') {
        return None;
    }
    let behind = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !behind.starts_with(|c| blank(c) || c == ';' || c == ',') {
        return None;
    }
    let behind = behind.trim_start_matches(blank);
    let address = behind
        .strip_prefix([';', ','])
        .unwrap_or(behind)
        .trim_start_matches(blank);
    let address = unquoted(without_key(address).unwrap_or(address));
    (!address.is_empty()).then_some(address)
}

/// What follows `url =`.
fn without_key(text: &str) -> Option<&str> {
    let key = text.get(..3)?;
    let behind = text[3..].trim_start_matches(blank).strip_prefix('=')?;
    key.eq_ignore_ascii_case("url")
        .then(|| behind.trim_start_matches(blank))
}

fn unquoted(text: &str) -> &str {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return text;
    };
    let inner = &text[1..];
    inner.split(quote).next().unwrap_or(inner)
}

fn blank(c: char) -> bool {
    c.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (content, expected) in [
            ("0;url=/a", Some("/a")),
            ("5; URL = '/a b' x", Some("/a b")),
            ("1,\"/a", Some("/a")),
            ("3 /a", Some("/a")),
            ("0.5;/a", Some("/a")),
            (".5;/a", Some("/a")),
            ("0; url", Some("url")),
            ("0;urls=/a", Some("urls=/a")),
            ("5", None),
            ("5;", None),
            ("0;url=", None),
            ("x;url=/a", None),
            ("5x;url=/a", None),
            ("", None),
            ("-1;url=/a", None),
            ("0;url=\u{e9}", Some("\u{e9}")),
            ("0;\u{e9}\u{e9}", Some("\u{e9}\u{e9}")),
        ] {
            assert_eq!(target(content), expected, "{content:?}");
        }
    }
}
