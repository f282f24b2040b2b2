//! Rules, options and refusals of the canonicaliser. Field cases have a file of their own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

fn canonical(input: &str) -> String {
    Canonicalizer::default()
        .canonicalize(input)
        .unwrap_or_else(|error| panic!("{input}: {error}"))
        .to_string()
}

fn kind(input: &str) -> &'static str {
    Canonicalizer::default()
        .canonicalize(input)
        .expect_err(input)
        .kind()
}

fn with(drop_params: &[&str], sort_query: bool) -> Canonicalizer {
    let drop_params = drop_params.iter().map(|&name| name.to_owned()).collect();
    Canonicalizer::new(CanonicalOptions {
        drop_params,
        sort_query,
        ..CanonicalOptions::default()
    })
    .unwrap()
}

#[test]
fn one_form_for_many_spellings() {
    for (input, output) in [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http:example.com", "http://example.com/"),
        ("http:\\\\example.com\\a\\b", "http://example.com/a/b"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/?", "http://example.com/?"),
        ("http://example.com/?#f", "http://example.com/?"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com:08080/", "http://example.com:8080/"),
        ("http://example.com/%7Efoo/../%41", "http://example.com/A"),
        (
            "http://example.com/a?b=%7e&c=%2f%2F",
            "http://example.com/a?b=~&c=%2F%2F",
        ),
        ("http://example.com/ü?ü", "http://example.com/%C3%BC?%C3%BC"),
        (
            "http://example.com/?a|b\\c{d}e^f`g'h",
            "http://example.com/?a%7Cb%5Cc%7Bd%7De%5Ef%60g%27h",
        ),
        (
            "http://example.com/[a]?b[]=1",
            "http://example.com/[a]?b[]=1",
        ),
        (
            "http://example.com/a+b?c+d=%20",
            "http://example.com/a+b?c+d=%20",
        ),
        ("http://example.com/;p=1;q", "http://example.com/;p=1;q"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://192.0.2.4./", "http://192.0.2.4/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://example。com。/", "http://example.com/"),
    ] {
        assert_eq!(canonical(input), output, "{input}");
    }
}

#[test]
fn a_decoded_character_completes_no_triplet() {
    for (input, output) in [
        (
            "http://h.example/%%32e%%32e/x",
            "http://h.example/%%32e%%32e/x",
        ),
        ("http://h.example/%2%65/x", "http://h.example/%2%65/x"),
        ("http://h.example/%252e/x", "http://h.example/%252e/x"),
        ("http://h.example/a/%2\te/x", "http://h.example/a/x"),
        ("http://h.example/?%%341", "http://h.example/?%%341"),
    ] {
        assert_eq!(canonical(input), output, "{input}");
        assert_eq!(canonical(output), output, "{output} again");
    }
}

#[test]
fn refusals_are_named() {
    for (input, expected) in [
        ("", "empty"),
        (" \t\r\n\u{1f}", "empty"),
        ("/a", "relative"),
        ("example.com", "relative"),
        ("//example.com/", "relative"),
        ("#f", "relative"),
        ("ftp://example.com/", "unsupported_scheme"),
        ("mailto:a@b.example", "unsupported_scheme"),
        ("javascript:alert(1)", "unsupported_scheme"),
        ("data:text/html,x", "unsupported_scheme"),
        ("example.com:8080/", "unsupported_scheme"),
        ("f\ttp://[bad", "unsupported_scheme"),
        ("ws://a b/", "unsupported_scheme"),
        ("http://", "invalid_host"),
        ("http://@/", "invalid_host"),
        ("http://a b/", "invalid_host"),
        ("http://1.2.3.400/", "invalid_host"),
        ("http://xn--a/", "invalid_host"),
        ("http://%00.example/", "invalid_host"),
        ("http://\u{ad}/", "invalid_host"),
        ("http://*.example/", "invalid_host"),
        ("http://{host}/", "invalid_host"),
        ("http://example.com:65536/", "invalid_port"),
        ("http://example.com:8x/", "invalid_port"),
        ("http://example.com:0/", "invalid_port"),
    ] {
        assert_eq!(kind(input), expected, "{input:?}");
    }
}

#[test]
fn a_refusal_never_shows_the_input() {
    for input in [
        "http://user:secret@a b/",
        "secret:secret@h/",
        "http://secret@h:99999/",
        "//secret@h/",
        "http://h.example/secret#",
    ] {
        let limit = CanonicalOptions {
            max_length_bytes: 10,
            ..CanonicalOptions::default()
        };
        let error = Canonicalizer::new(limit)
            .unwrap()
            .canonicalize(input)
            .expect_err(input);
        assert!(
            !format!("{error} {error:?}").contains("secret"),
            "{error:?}"
        );
    }
}

#[test]
fn long_urls_are_refused_never_cut() {
    let prefix = "http://example.com/";
    let fits = format!("{prefix}{}", "a".repeat(2_048 - prefix.len()));
    assert_eq!(canonical(&fits), fits);
    let over = format!("{fits}a");
    let refused = UrlError::TooLong {
        length_bytes: 2_049,
        max_bytes: 2_048,
    };
    assert_eq!(Canonicalizer::default().canonicalize(&over), Err(refused));
    // What counts is the canonical form: a fragment is not part of it, encoding is.
    assert_eq!(canonical(&format!("{fits}#{}", "f".repeat(5_000))), fits);
    assert_eq!(kind(&format!("{prefix}{}", "ü".repeat(400))), "too_long");
    let large = CanonicalOptions {
        max_length_bytes: 8_192,
        ..CanonicalOptions::default()
    };
    assert!(
        Canonicalizer::new(large)
            .unwrap()
            .canonicalize(&over)
            .is_ok()
    );
    assert_eq!(
        kind(&format!("{fits}#{}", "f".repeat(MAX_INPUT_BYTES))),
        "too_long"
    );
    let base = Canonicalizer::default().canonicalize(prefix).unwrap();
    assert_eq!(
        Canonicalizer::default()
            .join(&base, &" ".repeat(MAX_INPUT_BYTES + 1))
            .unwrap_err()
            .kind(),
        "too_long"
    );
}

#[test]
fn options_of_a_crawl() {
    let canonicalizer = with(&["utm_source", "sid"], true);
    let edited = |input: &str| canonicalizer.canonicalize(input).unwrap().to_string();
    assert_eq!(
        edited("http://h.example/?b=2&sid=1&a=1&utm_source=x&b=1"),
        "http://h.example/?a=1&b=2&b=1"
    );
    assert_eq!(edited("http://h.example/?%73id=1"), "http://h.example/");
    assert_eq!(edited("http://h.example/?"), "http://h.example/?");
    assert_eq!(edited("http://h.example/sid=1"), "http://h.example/sid=1");
    assert_eq!(canonicalizer.options().drop_params.len(), 2);
    // The limit holds for what remains.
    let long = format!("http://h.example/?a=1&sid={}", "x".repeat(3_000));
    assert_eq!(edited(&long), "http://h.example/?a=1");
    // Without the options nothing of this happens.
    assert_eq!(
        canonical("http://h.example/?b=2&sid=1&a=1"),
        "http://h.example/?b=2&sid=1&a=1"
    );
}

#[test]
fn join_with_a_base_that_is_not_canonical() {
    let canonicalizer = Canonicalizer::default();
    let base = Url::parse("http://user:pw@EXAMPLE.com.:80/d/i.html?x#f").unwrap();
    let joined = |reference| {
        canonicalizer
            .join_with_base_url(&base, reference)
            .unwrap()
            .to_string()
    };
    assert_eq!(joined("a"), "http://example.com/d/a");
    assert_eq!(joined("#g"), "http://example.com/d/i.html?x");
    assert_eq!(joined("HTTPS://other.example"), "https://other.example/");
    let opaque = Url::parse("data:text/html,x").unwrap();
    assert_eq!(
        canonicalizer
            .join_with_base_url(&opaque, "a")
            .unwrap_err()
            .kind(),
        "relative"
    );
    assert_eq!(
        canonicalizer
            .join_with_base_url(&opaque, "http://h.example")
            .unwrap()
            .as_str(),
        "http://h.example/"
    );
    assert_eq!(
        canonicalizer
            .join_with_base_url(&base, "mailto:x@y")
            .unwrap_err()
            .kind(),
        "unsupported_scheme"
    );
    assert_eq!(
        canonicalizer
            .join_with_base_url(&base, "//a b/")
            .unwrap_err()
            .kind(),
        "invalid_host"
    );
}
