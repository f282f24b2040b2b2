//! Product tokens (RFC 9309 section 2.2.1): whom a `User-agent` line speaks to.

/// Whom one `User-agent` value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The agent we parse for.
    Us,
    /// `*`: everyone without a group of their own.
    Everyone,
    /// Some other agent, or nobody (a value without a token).
    Other,
}

/// Reads a `User-agent` value on behalf of `token` (as [`leading_token`] gives it).
pub(crate) fn audience(value: &[u8], token: &[u8]) -> Audience {
    // `*` with words after it is still everyone; `*bot` is nobody.
    if let [b'*', rest @ ..] = value
        && rest.first().is_none_or(u8::is_ascii_whitespace)
    {
        return Audience::Everyone;
    }
    let named = leading_token(value);
    if !named.is_empty() && named.eq_ignore_ascii_case(token) {
        Audience::Us
    } else {
        Audience::Other
    }
}

/// The longest start made of `a-z`, `A-Z`, `-` and `_`: `MyBot/2.1 (+http://...)` is `MyBot`.
pub(crate) fn leading_token(value: &[u8]) -> &[u8] {
    let is_token_octet = |b: &u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_');
    let end = value
        .iter()
        .position(|b| !is_token_octet(b))
        .unwrap_or(value.len());
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_at_the_first_foreign_octet() {
        assert_eq!(leading_token(b"MyBot/2.1 (+x)"), b"MyBot");
        assert_eq!(leading_token(b"my_Bot-x y"), b"my_Bot-x");
        assert_eq!(leading_token(b"4bot"), b"");
    }

    #[test]
    fn whole_tokens_are_compared_without_case() {
        assert_eq!(audience(b"MYBOT/9", b"mybot"), Audience::Us);
        assert_eq!(audience(b"mybot-news", b"mybot"), Audience::Other);
        assert_eq!(audience(b"my", b"mybot"), Audience::Other);
        assert_eq!(audience(b"", b""), Audience::Other);
        assert_eq!(audience(b"*", b"mybot"), Audience::Everyone);
        assert_eq!(audience(b"* everyone", b"mybot"), Audience::Everyone);
        assert_eq!(audience(b"*bot", b"mybot"), Audience::Other);
    }
}
