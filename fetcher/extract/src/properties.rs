//! Properties of the whole: never a panic, the cut of a body never matters, and what went into a page comes out.

use proptest::prelude::*;

use crate::testing::{extract_with, url};
use crate::{ExtractOptions, Extractor, LinkClass, ResponseInfo};

fn response(content_type: &str) -> ResponseInfo {
    ResponseInfo {
        content_type: Some(content_type.to_owned()),
        ..ResponseInfo::html(url("http://a.example/d/"))
    }
}

/// Scraps of pages: markup, encodings, references, noise.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let scraps: Vec<&'static [u8]> = vec![
        b"<a href=\"/x\">",
        b"<a href='",
        b"?q=\xe9",
        b"'>",
        b"<base href=/b/>",
        b"<img srcset='a 1x, b 2x'>",
        b"<meta charset=shift_jis>",
        b"<meta name=robots content=nofollow>",
        b"<script>",
        b"</script>",
        b"<!--",
        b"-->",
        b"\xe2\x82\xac",
        b"\x93\xfa",
        b"\x1b$B",
        b"\xff",
        b"\0",
        b"<meta http-equiv=refresh content='0;url=/r'>",
        b"&amp;",
        b"&#x",
        b" ",
        b"text ",
        b"<svg>",
        b"</svg>",
        b"<link rel=canonical href=/c>",
        b"\xff\xfe",
    ];
    let piece = prop_oneof![
        6 => proptest::sample::select(scraps).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (0usize..3_000).prop_map(|n| b"<p>filler ".repeat(n / 10)),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The path and query of a link.
fn reference() -> impl Strategy<Value = String> {
    "/[a-z\u{e9}]{1,6}(/[a-z0-9_-]{1,6}){0,2}(\\?[a-c]=[0-9'>]{1,3}(&[d-f]=[0-9]{1,3}){0,2})?"
}

/// A link to `reference`, in one of the ways to write one.
fn written(reference: &str, way: usize) -> String {
    let escaped = reference.replace('&', "&amp;").replace('\'', "&#39;");
    let all_escaped: String = (reference.chars())
        .map(|c| format!("&#x{:x};", u32::from(c)))
        .collect();
    match way {
        0 => format!("<a href=\"{escaped}\">text</a>"),
        1 => format!("<A class=x HREF = '{escaped}'\n>"),
        2 => format!("<area/href={} alt>", escaped.replace('>', "&gt;")),
        3 => format!("<a href='{all_escaped}' href=/second>"),
        4 => format!("<noscript><iframe src=\"{escaped}\"><a href=/raw></iframe></noscript>"),
        _ => format!("<link rel=next href='{escaped}'/>"),
    }
}

/// What stands between links, and holds none.
const BETWEEN: [&str; 14] = [
    "",
    "text &amp; <b>bold</b> 1 < 2 ",
    "<!-- <a href=/no> -->",
    "<script>var x = '<a href=/no>' <!-- <script> </script> <a href=/no> --></script>",
    "<style>a { content: '</p></styles><a href=/no>' }</style>",
    "<title><a href=/no></title>",
    "<textarea><a href=/no></TEXTAREA >",
    "<xmp><a href=/no></xmp>",
    "<noembed><a href=/no></noembed>",
    "<noframes><a href=/no></noframes>",
    "<svg><![CDATA[<a href=/no>]]></svg>",
    "<![CDATA[ no section in HTML, so a comment up to > here",
    "<p title='<a href=/no>' data-href=/no><a name=x><ul><li>",
    "<?php '<a href=/no' ?></a href=/no>",
];

/// The page's octets, and the type they are served with.
fn encoded(page: &str, encoding: usize) -> (Vec<u8>, &'static str) {
    match encoding {
        0 => (page.as_bytes().to_vec(), "text/html; charset=utf-8"),
        1 => (
            [b"\xEF\xBB\xBF", page.as_bytes()].concat(),
            "text/html; charset=koi8-r",
        ),
        2 => (
            page.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "text/html; charset=utf-16le",
        ),
        3 => {
            let latin = encoding_rs::WINDOWS_1252.encode(page).0;
            (
                [b"<meta charset=windows-1252>", &latin[..]].concat(),
                "text/html",
            )
        }
        _ => (
            format!("<meta charset=utf-8>{page}").into_bytes(),
            "text/html",
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_gives_the_same(
        body in body(),
        cuts in proptest::collection::vec(1usize..700, 1..30),
        content_type in proptest::sample::select(vec!["text/html", "text/html; charset=utf-8", "text/html;charset=utf-16le", "application/xhtml+xml"]),
    ) {
        let whole = extract_with(ExtractOptions::new("mybot"), response(content_type), &body);
        let mut extractor = Extractor::new(ExtractOptions::new("mybot"), response(content_type));
        let mut rest = &body[..];
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*cut));
            extractor.push(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(extractor.finish(), whole);
    }

    #[test]
    fn a_page_made_of_links_gives_exactly_these(
        pieces in proptest::collection::vec((reference(), 0usize..6, proptest::sample::select(&BETWEEN[..])), 0..30),
        encoding in 0usize..5,
    ) {
        let page: String = pieces.iter().map(|(reference, way, between)| written(reference, *way) + between).collect();
        let (body, content_type) = encoded(&page, encoding);
        let mut expected = Vec::new();
        for (reference, _, _) in &pieces {
            let link = url(&format!("http://a.example{reference}"));
            if !expected.contains(&link) {
                expected.push(link);
            }
        }
        let extracted = extract_with(ExtractOptions::new("mybot"), response(content_type), &body);
        let found: Vec<_> = extracted.links.iter().map(|link| link.url.clone()).collect();
        prop_assert_eq!(found, expected, "{}", page);
        prop_assert!(extracted.links.iter().all(|link| link.class == LinkClass::Page && !link.nofollow));
        prop_assert_eq!(extracted.links_dropped.total(), 0);
    }

    #[test]
    fn any_octets_survive(body in proptest::collection::vec(any::<u8>(), 0..3_000), content_type in "text/html(; ?charset=[a-z0-9-]{0,12})?") {
        let mut extractor = Extractor::new(ExtractOptions::new("mybot"), response(&content_type));
        for octet in &body {
            extractor.push(std::slice::from_ref(octet));
        }
        let extracted = extractor.finish();
        prop_assert!(!extracted.parse_failed || extracted.links.is_empty());
    }

    #[test]
    fn any_references_survive(reference in ".{0,60}", base in ".{0,30}", field in ".{0,60}") {
        let info = ResponseInfo { link: vec![field.clone()], x_robots_tag: vec![field], ..response("text/html") };
        let page = format!("<meta charset=windows-1252><base href=\"{base}\"><a href=\"{reference}\"><img srcset=\"{reference}\"><meta http-equiv=refresh content=\"{reference}\">");
        let extracted = extract_with(ExtractOptions::new("mybot"), info, page.as_bytes());
        for link in &extracted.links {
            prop_assert_eq!(&url(link.url.as_str()), &link.url, "canonical form is a fixed point");
        }
    }
}
