//! Properties of the whole: never a panic, and the cut of a body never matters.

use proptest::prelude::*;

use crate::testing::{extract_with, url};
use crate::{ExtractOptions, Extractor, ResponseInfo};

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
