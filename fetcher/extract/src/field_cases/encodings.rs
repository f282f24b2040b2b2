//! Case F11: which encoding, and what it does to links.

use super::response;
use crate::testing::{extract_with, links};
use crate::{CharsetSource, ExtractOptions};

fn charset(content_type: Option<&str>, body: &[u8]) -> (&'static str, CharsetSource) {
    let extracted = extract_with(ExtractOptions::new("mybot"), response(content_type), body);
    let charset = extracted.charset.expect("HTML has an encoding");
    (charset.label, charset.source)
}

/// case F11: mark, header, declaration, look, default: in this order; unknown labels are skipped.
#[test]
fn encodings() {
    use CharsetSource::{ByteOrderMark, Declaration, Default, Detected, Header};
    let koi = "<meta charset=koi8-r>";
    assert_eq!(
        charset(Some("text/html; charset=koi8-r"), b"\xEF\xBB\xBF<p>"),
        ("UTF-8", ByteOrderMark)
    );
    assert_eq!(
        charset(Some("text/html; charset=shift_jis"), koi.as_bytes()),
        ("Shift_JIS", Header)
    );
    assert_eq!(
        charset(Some("text/html; charset=ISO-8559-1"), koi.as_bytes()),
        ("KOI8-R", Declaration)
    );
    assert_eq!(
        charset(Some("text/html; charset=ISO-8559-1"), b"<p>x"),
        ("UTF-8", Default)
    );
    assert_eq!(
        charset(
            Some("text/html"),
            b"<script>var x = 'charset=koi8-r';</script>"
        ),
        ("UTF-8", Default)
    );
    assert_eq!(
        charset(
            Some("text/html"),
            format!("{}{koi}", " ".repeat(1_100)).as_bytes()
        ),
        ("UTF-8", Default)
    );
    assert_eq!(
        charset(
            Some("text/html"),
            "<p>Gr\u{fc}\u{df}e aus K\u{f6}ln".as_bytes()
        ),
        ("UTF-8", Detected)
    );
    assert_eq!(
        charset(Some("text/html"), b"<p>Gr\xfc\xdfe aus K\xf6ln, sch\xf6n"),
        ("windows-1252", Detected)
    );
    assert_eq!(
        charset(
            Some("application/xhtml+xml"),
            b"<?xml version='1.0' encoding='koi8-r'?><p/>"
        ),
        ("KOI8-R", Declaration)
    );
    assert_eq!(
        charset(Some("application/xhtml+xml"), b"<p>\xfc</p>"),
        ("UTF-8", Default)
    );
}

/// case F11: a path travels in UTF-8, a query in the document's encoding.
#[test]
fn paths_in_utf8_queries_in_the_documents_encoding() {
    let body = b"<meta charset=Shift_JIS><a href='/\x93\xfa?q=\x93\xfa'></a><a href='/%93?q=%93'>";
    assert_eq!(
        links("http://a.example/", body),
        [
            "http://a.example/%E6%97%A5?q=%93%FA",
            "http://a.example/%93?q=%93"
        ]
    );
    let utf8 = "<meta charset=utf-8><a href='/\u{65e5}?q=\u{65e5}'>";
    assert_eq!(
        links("http://a.example/", utf8),
        ["http://a.example/%E6%97%A5?q=%E6%97%A5"]
    );
}

/// case F11: UTF-16 in both orders, by mark or header; its queries are in UTF-8.
#[test]
fn utf16_is_transcoded() {
    let text = "<a href='/\u{65e5}?\u{65e5}'>";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let expected = ["http://a.example/%E6%97%A5?%E6%97%A5"];
    assert_eq!(
        links("http://a.example/", [b"\xFF\xFE", &little[..]].concat()),
        expected
    );
    assert_eq!(
        links("http://a.example/", [b"\xFE\xFF", &big[..]].concat()),
        expected
    );
    let by_header = extract_with(
        ExtractOptions::new("x"),
        response(Some("text/html; charset=utf-16be")),
        &big,
    );
    assert_eq!(by_header.links.len(), 1);
}
