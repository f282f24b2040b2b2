//! The emitter against examples of each rule.

use std::collections::BTreeMap;

use super::tag::ATTRIBUTES;
use super::{Value, for_each_tag};

type Seen = Vec<(String, BTreeMap<String, String>)>;

/// Longest value kept.
const MAX_VALUE: usize = 500;

/// Tags of interest with their attributes of interest.
fn tags_of(text: &str, xml: bool) -> Seen {
    let mut seen = Vec::new();
    for_each_tag(text, MAX_VALUE, xml, |tag| {
        let attributes = ATTRIBUTES.iter().filter_map(|name| {
            let value = match tag.value(name)? {
                Value::Text(text) => text.into_owned(),
                Value::TooLong => "(too long)".to_owned(),
            };
            Some(((*name).to_owned(), value))
        });
        seen.push((tag.known_name().to_owned(), attributes.collect()));
    });
    seen
}

fn tags(text: &str) -> Seen {
    tags_of(text, false)
}

/// The `href` of each tag of interest, `-` where there is none.
fn hrefs(text: &str) -> String {
    hrefs_of(&tags(text))
}

fn hrefs_of(seen: &Seen) -> String {
    let href = |attributes: &BTreeMap<String, String>| {
        attributes.get("href").cloned().unwrap_or("-".into())
    };
    seen.iter()
        .map(|(_, attributes)| href(attributes))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn attributes_in_every_notation() {
    for (text, expected) in [
        ("<a href=1>", "1"),
        ("<A HREF='2'>", "2"),
        ("<a\nhref\t=\n\"3 4\"\t>", "3 4"),
        ("<a x href=5/>", "5/"),
        ("<a href=6 href=7>", "6"),
        ("<a/href=8/>", "8/"),
        ("<a/ /href='9'/>", "9"),
        ("<a href>", ""),
        ("<a href=>", ""),
        ("<a =href=1 href=2>", "2"),
        ("<a x='1'href=2>", "2"),
        ("<a href=a>b<a href='c>d'>", "a c>d"),
        ("<a href='<a>'>", "<a>"),
        ("<a href=\"a&amp;b&#38;c&lt\">", "a&b&c<"),
        ("<a href='?a=1&copy=2&copy;'>", "?a=1&copy=2\u{a9}"),
        ("<a><area href=1>", "- 1"),
        ("<a href='\0'>", "\u{fffd}"),
        ("<a href='unclosed><a href=2>", ""),
        ("<a href=1", ""),
        ("<ahref=1>", ""),
        ("< a href=1>", ""),
        ("<<a href=1>", "1"),
        ("<a<b href=1>", ""),
        ("</a href=1><a href=2>", "2"),
        ("<a title=\"'\" href='\"'>", "\""),
    ] {
        assert_eq!(hrefs(text), expected, "{text:?}");
    }
}

#[test]
fn comments_doctypes_and_instructions() {
    for text in [
        "<!--<a>-->",
        "<!-- <a> -- > <a> --!>",
        "<!--><a href=0>".strip_suffix("<a href=0>").unwrap(),
        "<!--->",
        "<!-->",
        "<!---->",
        "<!--<!--<a>-->",
        "<!--<!-->",
        "<!---!><a>-->",
        "<!--a--!>",
        "<!-a>",
        "<!>",
        "<!->",
        "<!doctype html \"'>",
        "<?php '<a' ?>",
        "</ a>",
        "</>",
        "<![CDATA[<a]]>",
    ] {
        assert_eq!(hrefs(&format!("{text}<a href=1>")), "1", "{text:?}");
    }
    assert_eq!(hrefs("<!-- <a href=1> "), "");
}

#[test]
fn raw_text_elements() {
    for text in [
        "<script><a href=0></script>",
        "<SCRIPT x>'</scripts><a href=0>'</script >",
        "<style><a href=0></style/>",
        "<title><a href=0></title x='y'>",
        "<textarea></textare><a href=0></textarea>",
        "<xmp><a href=0></xmp>",
        "<noembed><a href=0></noembed>",
        "<noframes><a href=0></noframes>",
        "<iframe><a href=0></iframe>",
        "<script><!--<script><a href=0></script><a href=0>--></script>",
        "<script><!-- </script>",
        "<script><!--<script></script><a href=0></script>",
        "<script><!--<script>--><a href=0></script>",
        "<script></script>",
        "<script><</script>",
        "<script></</script>",
        "<script><!-</script>",
        "<script><!--x--></script>",
        "<title/></title>",
        "<style><!--</style>",
    ] {
        let seen = hrefs(&format!("{text}<a href=1>"));
        assert_eq!(seen.trim_start_matches("- "), "1", "{text:?}");
    }
    assert_eq!(hrefs("<noscript><a href=1></noscript><a href=2>"), "1 2");
    assert_eq!(hrefs("<plaintext><a href=1></plaintext><a href=2>"), "");
    assert_eq!(hrefs("<title><a href=1>"), "");
}

#[test]
fn foreign_content() {
    for (text, expected) in [
        (
            "<svg><title><a href=1></a></title><style><a href=2></style></svg>",
            "1 2",
        ),
        (
            "<svg><![CDATA[<a href=1>]> ]] ><a href=2>]]]><a href=3></svg>",
            "3",
        ),
        ("<svg/><title><a href=1></title><a href=2>", "2"),
        (
            "<svg><foreignObject><title><a href=1></title></foreignObject><style><a href=2></style></svg>",
            "2",
        ),
        ("<svg><p><style><a href=1></style>", ""),
        (
            "<math><mi><style><a href=1></style></mi><style><a href=2></style></math><style><a href=3></style>",
            "2",
        ),
        ("<svg></p><style><a href=1></style>", ""),
    ] {
        assert_eq!(hrefs(text), expected, "{text:?}");
    }
    assert_eq!(hrefs(&format!("{}<a href=1>", "<svg>".repeat(10_000))), "1");
}

#[test]
fn xml_closes_what_closes_itself() {
    let text =
        "<title/><script src='x'/><![CDATA[<a href=0>]]><a href='1'/><script><a href=2></script>";
    assert_eq!(hrefs_of(&tags_of(text, true)), "- 1 -");
    assert_eq!(hrefs("<script src=x/><a href=1>"), "-");
}

#[test]
fn long_values_and_names() {
    let fits = "x".repeat(MAX_VALUE);
    assert_eq!(hrefs(&format!("<a href='{fits}'>")), fits);
    assert_eq!(
        hrefs(&format!("<a href='{fits}y' src=1><a href=2>")),
        "(too long) 2"
    );
    assert_eq!(
        hrefs(&format!("<a href={fits}y><a href=2>")),
        "(too long) 2"
    );
    assert_eq!(
        hrefs(&format!(
            "<{}a href=1><a {}=2 href=3>",
            "a".repeat(100),
            "href".repeat(100)
        )),
        "3"
    );
    let seen = tags(&format!("<img src='{fits}y' srcset='b'>"));
    assert_eq!(seen[0].1["srcset"], "b");
}
