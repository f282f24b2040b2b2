//! Field cases about paths, queries, blanks and references.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{canonical, joined, key};
use crate::{CanonicalUrl, UrlError};

// case B23: the key of what was fetched is the key of what was queued, whatever blanks came with it.
#[test]
fn b23_trailing_space_gives_the_same_key() {
    assert_eq!(canonical("http://example.com/a "), "http://example.com/a");
    assert_eq!(key("http://example.com/a "), key("http://example.com/a"));
    assert_eq!(
        key("\n http://example.com/a\t"),
        key("http://example.com/a")
    );
    // An encoded one is part of the path, and deriving the key again changes nothing.
    assert_eq!(
        canonical("http://example.com/a%20"),
        "http://example.com/a%20"
    );
    assert_eq!(
        canonical(&canonical("http://example.com/a%20 ")),
        "http://example.com/a%20"
    );
    assert_ne!(key("http://example.com/a%20"), key("http://example.com/a"));
    assert_eq!(
        CanonicalUrl::verify("http://example.com/a ", 2_048),
        Err(UrlError::NotCanonical)
    );
}

// case C1
#[test]
fn c1_lone_percent_stays() {
    assert_eq!(
        canonical("https://example.org/90%+of+x"),
        "https://example.org/90%+of+x"
    );
    assert_eq!(
        canonical("https://example.org/%?%&%4"),
        "https://example.org/%?%&%4"
    );
}

// case C2
#[test]
fn c2_escapes_are_not_escaped_again() {
    assert_eq!(
        canonical("http://h.example/a%E2%84%A2"),
        "http://h.example/a%E2%84%A2"
    );
    assert_eq!(
        canonical("http://h.example/a%e2%84%a2"),
        "http://h.example/a%E2%84%A2"
    );
    assert_eq!(
        canonical("http://h.example/a™"),
        "http://h.example/a%E2%84%A2"
    );
    assert_eq!(
        canonical("http://h.example/b%3d%3d"),
        "http://h.example/b%3D%3D"
    );
}

// case C4
#[test]
fn c4_ampersand_in_a_path_is_a_character() {
    assert_eq!(
        canonical("http://h.example/a&b/c?x=1"),
        "http://h.example/a&b/c?x=1"
    );
}

// case C5
#[test]
fn c5_reserved_escapes_stay() {
    assert_eq!(
        canonical("http://h.example/x%2Fy"),
        "http://h.example/x%2Fy"
    );
    assert_eq!(
        canonical("http://h.example/x%2fy"),
        "http://h.example/x%2Fy"
    );
    assert_eq!(
        canonical("http://h.example/WA%27USA"),
        "http://h.example/WA%27USA"
    );
    assert_ne!(key("http://h.example/x%2Fy"), key("http://h.example/x/y"));
    assert_ne!(
        key("http://h.example/WA%27USA"),
        key("http://h.example/WA'USA")
    );
}

// case C11
#[test]
fn c11_empty_segments_stay_and_encoded_dots_are_dots() {
    assert_eq!(
        canonical("http://h.example/x////%2E./y"),
        "http://h.example/x///y"
    );
    assert_eq!(
        canonical("http://h.example//a//b"),
        "http://h.example//a//b"
    );
    assert_eq!(
        canonical("http://h.example/a/%2e%2E/b/%2e/c"),
        "http://h.example/b/c"
    );
    assert_eq!(
        canonical("http://h.example/a/...%2e/b"),
        "http://h.example/a/..../b"
    );
}

// case C14
#[test]
fn c14_control_bytes() {
    let base = "http://h.example/d/i";
    assert_eq!(joined(base, "/s\x01oh"), "http://h.example/s%01oh");
    assert_eq!(joined(base, "/a\x0bbc"), "http://h.example/a%0Bbc");
    assert_eq!(joined(base, "/a\0b?c\x7f"), "http://h.example/a%00b?c%7F");
    assert_eq!(
        joined(base, "ht\ttp://e\nxample.com/"),
        "http://example.com/"
    );
    assert_eq!(joined(base, " /x "), "http://h.example/x");
    assert_eq!(joined(base, "\x01/x\x1f"), "http://h.example/x");
}

// case C17
#[test]
fn c17_path_and_query_keep_case_and_encoded_backslash() {
    assert_eq!(
        canonical("http://h.example/nb%5Cx.NSF/A?Open"),
        "http://h.example/nb%5Cx.NSF/A?Open"
    );
    assert_eq!(
        canonical("http://h.example/nb%5cx"),
        "http://h.example/nb%5Cx"
    );
}

// case C20
#[test]
fn c20_fragments_go_and_queries_stay() {
    let base = "http://h.example/g";
    assert_eq!(joined(base, "/g#a"), "http://h.example/g");
    assert_eq!(joined(base, "/g#b"), "http://h.example/g");
    assert_eq!(joined(base, "/g?page=2#c"), "http://h.example/g?page=2");
    assert_eq!(joined(base, "#c"), "http://h.example/g");
}

// case C23
#[test]
fn c23_references_resolve_as_rfc_3986_says() {
    let base = "http://h.example/d/i.html";
    assert_eq!(joined(base, "?p=2"), "http://h.example/d/i.html?p=2");
    assert_eq!(joined(base, ""), "http://h.example/d/i.html");
    assert_eq!(joined(base, "//cdn.example/x"), "http://cdn.example/x");
    assert_eq!(joined(base, "../../../x"), "http://h.example/x");
    assert_eq!(
        joined("http://h.example/d/i?q=1", ""),
        "http://h.example/d/i?q=1"
    );
    // RFC 3986 section 5.4.1, with a fragment dropped where one stands.
    let base = "http://a.example/b/c/d;p?q";
    for (reference, path) in [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"),
        ("g#s", "/b/c/g"),
        (";x", "/b/c/;x"),
        ("g;x?y#s", "/b/c/g;x?y"),
        (".", "/b/c/"),
        ("..", "/b/"),
        ("../..", "/"),
        ("../../../../g", "/g"),
        ("g..", "/b/c/g.."),
        ("g;x=1/../y", "/b/c/y"),
        ("g?y/../x", "/b/c/g?y/../x"),
    ] {
        assert_eq!(
            joined(base, reference),
            format!("http://a.example{path}"),
            "{reference}"
        );
    }
}
