//! Which robots.txt speaks for a URL, and which part of the URL its rules are compared with (RFC 9309 section 2.3).
//!
//! Text in, text out: the URL is expected in canonical form (scheme and host in lower case); nothing is validated beyond
//! what is needed to cut it.

/// The address of the robots.txt that governs `url`: same scheme, host and port, no user information. None without `://`
/// or a host.
#[must_use]
pub fn robots_url(url: &str) -> Option<String> {
    let (scheme, authority, _) = split(url)?;
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    (!host_and_port.is_empty()).then(|| format!("{scheme}://{host_and_port}/robots.txt"))
}

/// Path and query of `url`, without fragment: what [`crate::Robots::check`] takes. `/` if there is no path. None without
/// `://`.
#[must_use]
pub fn path_and_query(url: &str) -> Option<&str> {
    let (_, _, rest) = split(url)?;
    let end = rest.find('#').unwrap_or(rest.len());
    Some(if end == 0 { "/" } else { &rest[..end] })
}

/// Scheme, authority, and everything from the path on.
fn split(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    Some((scheme, &rest[..end], &rest[end..]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// case D23: scheme, host and port count; user information does not travel; a subdomain has its own file.
    #[test]
    fn one_file_per_authority() {
        let of = |url| robots_url(url).unwrap();
        assert_eq!(
            of("http://e.example:8080/"),
            "http://e.example:8080/robots.txt"
        );
        assert_eq!(
            of("https://e.example/a/b?c"),
            "https://e.example/robots.txt"
        );
        assert_eq!(
            of("http://user:p@ss@e.example/x@y"),
            "http://e.example/robots.txt"
        );
        assert_eq!(
            of("http://www.e.example?q=/"),
            "http://www.e.example/robots.txt"
        );
        assert_eq!(
            of("http://[2001:db8::1]:81/x"),
            "http://[2001:db8::1]:81/robots.txt"
        );
        assert_eq!(robots_url("mailto:a@e.example"), None);
        assert_eq!(robots_url("http:///x"), None);
    }

    #[test]
    fn what_is_compared() {
        assert_eq!(path_and_query("http://e.example"), Some("/"));
        assert_eq!(path_and_query("http://e.example/a?b#c"), Some("/a?b"));
        assert_eq!(path_and_query("http://e.example?b"), Some("?b"));
        assert_eq!(path_and_query("http://e.example#c"), Some("/"));
        assert_eq!(path_and_query("/a"), None);
    }
}
