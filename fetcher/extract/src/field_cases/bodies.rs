//! Cases of F about broken, cut and over-large bodies.

use super::{PAGE, response};
use crate::testing::{extract, extract_with, links, url};
use crate::{ExtractOptions, Extractor, LinkClass, ResponseInfo};

/// case F8: an over-long attribute or URL is dropped, never cut.
#[test]
fn nothing_is_cut() {
    let options = || ExtractOptions {
        max_attribute_bytes: 2_500,
        ..ExtractOptions::new("mybot")
    };
    let long = "x".repeat(3_000);
    let middle = "x".repeat(2_200);
    let body = format!("<a href='/{long}'></a><a href='/{middle}'></a><a href=/ok>");
    let extracted = extract_with(options(), ResponseInfo::html(url(PAGE)), body.as_bytes());
    assert_eq!(extracted.links.len(), 1);
    assert_eq!(extracted.links[0].url.as_str(), "http://a.example/ok");
    assert_eq!(
        (
            extracted.links_dropped.long_attribute,
            extracted.links_dropped.long_url
        ),
        (1, 1)
    );
    let tight = ExtractOptions {
        max_url_length: 20,
        ..ExtractOptions::new("mybot")
    };
    let extracted = extract_with(
        tight,
        ResponseInfo::html(url(PAGE)),
        b"<a href=/123><a href=/1234>",
    );
    assert_eq!(
        (extracted.links.len(), extracted.links_dropped.long_url),
        (1, 1)
    );
}

/// case F10: binary and broken bodies survive; the outcome says so.
#[test]
fn binary_bodies_are_no_html() {
    let noise: Vec<u8> = (0..20_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let extracted = extract(PAGE, [&noise[..], b"<a href=/x>"].concat());
    assert!(extracted.parse_failed && extracted.links.is_empty() && extracted.charset.is_none());
    for end in [
        "<meta charset=",
        "<meta charset",
        "<meta charset='",
        "<meta http-equiv=content-type content='charset",
        "<!--",
        "<a href='",
    ] {
        let extracted = extract(PAGE, end);
        assert!(
            !extracted.parse_failed && extracted.links.is_empty(),
            "{end:?}"
        );
    }
    let nearly = extract(
        PAGE,
        [&b"<p>one stray \x01 octet".repeat(4)[..], b"<a href=/x>"].concat(),
    );
    assert!(!nearly.parse_failed && nearly.links.len() == 1);
}

/// case F16: links of a cut body are flagged; a type that is not HTML has none.
#[test]
fn cut_bodies_are_flagged() {
    let mut extractor = Extractor::new(ExtractOptions::new("mybot"), response(Some("text/html")));
    extractor.push(b"<a href=/x></a><a href=/cut-in-the-mid");
    extractor.mark_truncated();
    let extracted = extractor.finish();
    assert!(extracted.truncated);
    assert_eq!(extracted.links.len(), 1, "a tag that was cut is no tag");
    for other in [
        Some("text/plain"),
        Some("application/json"),
        Some("image/svg+xml"),
        None,
    ] {
        let extracted = extract_with(
            ExtractOptions::new("mybot"),
            response(other),
            b"<a href=/x>",
        );
        assert!(
            extracted.links.is_empty() && extracted.charset.is_none() && !extracted.parse_failed,
            "{other:?}"
        );
    }
    assert_eq!(
        extract_with(
            ExtractOptions::new("x"),
            response(Some("Application/XHTML+XML")),
            b"<a href='/x'/>"
        )
        .links
        .len(),
        1
    );
}

#[test]
fn caps_on_links_are_per_class_and_flagged() {
    let options = ExtractOptions {
        max_links: 3,
        ..ExtractOptions::new("mybot")
    };
    let images: String = (0..5).map(|i| format!("<img src=/i{i}>")).collect();
    let pages: String = (0..4).map(|i| format!("<a href=/p{i}>")).collect();
    let body = format!("{images}<a href=/i0>{pages}<a href=/p0>");
    let extracted = extract_with(options, ResponseInfo::html(url(PAGE)), body.as_bytes());
    assert_eq!(
        extracted
            .links
            .iter()
            .filter(|link| link.class == LinkClass::Page)
            .count(),
        3
    );
    assert!(extracted.truncated);
    assert_eq!(
        extracted.links_dropped.over_limit, 4,
        "two images and two pages"
    );
}

#[test]
fn unclosed_elements_and_huge_attributes_lose_nothing() {
    let items = "<li>x".repeat(100_000);
    let image = format!(
        "<img src='data:image/png;base64,{}'>",
        "A".repeat(3_000_000)
    );
    assert_eq!(
        links(PAGE, format!("{items}{image}<a href=/end>")),
        ["http://a.example/end"]
    );
}
