//! The machine against examples of each rule, and against an independent tokenizer on random markup.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::tag::{ATTRIBUTES, TAGS};
use super::{Tokenizer, Value};

type Seen = Vec<(String, BTreeMap<String, String>)>;

/// Longest value kept: more than the random markup has.
const MAX_VALUE: usize = 500;

/// Tags of interest with their attributes of interest; the text pushed in pieces of `piece` octets.
fn tags_in_pieces(text: &str, piece: usize, xml: bool) -> Seen {
    let mut tokenizer = Tokenizer::new(MAX_VALUE, xml);
    let mut seen = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        tokenizer.push(piece, &mut |tag| {
            let attributes = ATTRIBUTES.iter().filter_map(|name| {
                let value = match tag.value(name)? {
                    Value::Text(text) => text.into_owned(),
                    Value::TooLong => "(too long)".to_owned(),
                };
                Some(((*name).to_owned(), value))
            });
            seen.push((tag.known_name().to_owned(), attributes.collect()));
        });
    }
    seen
}

fn tags(text: &str) -> Seen {
    tags_in_pieces(text, text.len().max(1), false)
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
        "<script><a></script>",
        "<SCRIPT x>'</scripts><a>'</script >",
        "<style><a></style/>",
        "<title><a></title x='y'>",
        "<textarea></textare><a></textarea>",
        "<xmp><a></xmp>",
        "<noembed><a></noembed>",
        "<script><!--<script><a></script><a>--></script>",
        "<script><!-- </script>",
        "<script><!--<script></script><a></script>",
        "<script><!--<script>--><a></script>",
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
    assert_eq!(
        hrefs("<noscript><a href=1></noscript><noframes><a href=2>"),
        "1 2"
    );
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
    assert_eq!(hrefs_of(&tags_in_pieces(text, 7, true)), "- 1 -");
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

/// What the other tokenizer sees, cut down to what ours reports.
fn reference(text: &str) -> Seen {
    let mut emitter = html5gum::DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut seen = Vec::new();
    for token in html5gum::Tokenizer::new_with_emitter(text, emitter) {
        let Ok(html5gum::Token::StartTag(tag)) = token else {
            continue;
        };
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if !TAGS.contains(&name.as_str()) {
            continue;
        }
        let attributes = tag.attributes.iter().map(|(name, value)| {
            (
                String::from_utf8_lossy(name).into_owned(),
                String::from_utf8_lossy(value).into_owned(),
            )
        });
        let kept = attributes.filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
        seen.push((name, kept.collect()));
    }
    seen
}

/// Scraps that markup is made of, glued together at random.
fn markup() -> impl Strategy<Value = String> {
    let scraps = vec![
        "<a",
        "<A ",
        "<img",
        "<b",
        "</a",
        "</",
        "<",
        ">",
        "/>",
        " ",
        "\n",
        "/",
        "=",
        "\"",
        "'",
        "href",
        "src",
        " href=",
        " HREF='",
        " src=\"x",
        "&amp;",
        "&copy",
        "&copy=",
        "&#x41;",
        "&",
        ";",
        "x",
        "\u{e9}",
        "<!--",
        "-->",
        "--!>",
        "--",
        "-",
        "!",
        "<!",
        "<!doctype",
        "<?",
        "<script>",
        "</script>",
        "<script",
        "</script",
        "<style>",
        "</style>",
        "<title>",
        "</title>",
        "<textarea>",
        "</textarea ",
        "<!-",
        "]]>",
        "<![CDATA[",
        "<xmp>",
        "</xmp>",
        "\0",
        "\t",
        "\x0c",
    ];
    proptest::collection::vec(proptest::sample::select(scraps), 0..40)
        .prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_an_independent_tokenizer(text in markup()) {
        prop_assert_eq!(tags(&text), reference(&text), "{:?}", text);
    }

    #[test]
    fn pieces_do_not_matter(text in markup(), piece in 1usize..9) {
        prop_assert_eq!(tags_in_pieces(&text, piece, false), tags(&text));
    }
}
