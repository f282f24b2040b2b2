//! The `Content-Type` field: is it HTML, and which encoding does it name?

/// What a body's type makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `text/html`.
    Html,
    /// `application/xhtml+xml`: read like HTML, but self-closing tags close and UTF-8 is the default.
    Xhtml,
    /// Anything else, or no type: no links.
    Other,
}

/// Reads the essence of a content type.
pub(crate) fn kind(content_type: Option<&str>) -> Kind {
    let essence = content_type
        .unwrap_or_default()
        .split([';', ','])
        .next()
        .unwrap_or_default()
        .trim();
    if essence.eq_ignore_ascii_case("text/html") {
        Kind::Html
    } else if essence.eq_ignore_ascii_case("application/xhtml+xml") {
        Kind::Xhtml
    } else {
        Kind::Other
    }
}

/// The value of the first `charset` parameter, without quotes.
pub(crate) fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        assert_eq!(kind(Some("Text/HTML; charset=x")), Kind::Html);
        assert_eq!(kind(Some(" application/xhtml+xml ")), Kind::Xhtml);
        for other in [
            Some("text/plain"),
            Some("image/png"),
            Some("text/htmlx"),
            Some(""),
            None,
        ] {
            assert_eq!(kind(other), Kind::Other);
        }
    }

    #[test]
    fn charset_parameters() {
        assert_eq!(
            charset_parameter("text/html; Charset = \"utf-8\""),
            Some("utf-8")
        );
        assert_eq!(
            charset_parameter("text/html;a=b;charset=x;charset=y"),
            Some("x")
        );
        assert_eq!(charset_parameter("text/html; charset="), None);
        assert_eq!(charset_parameter("charset=utf-8"), None);
    }
}
