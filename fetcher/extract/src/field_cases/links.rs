//! Cases C and F about references, bases and classes.

use super::{PAGE, response};
use crate::testing::{extract, extract_with, links, links_of, url};
use crate::{ExtractOptions, LinkClass, ResponseInfo};

/// case C14: control octets neither end a link nor vanish from it; white space at the ends and line ends within do.
#[test]
fn control_octets_in_links() {
    assert_eq!(
        links(PAGE, b"<a href='/s\x01oh'>"),
        ["http://a.example/s%01oh"]
    );
    assert_eq!(
        links(PAGE, b"<a href='/a\x0bbc'>"),
        ["http://a.example/a%0Bbc"]
    );
    assert_eq!(
        links(PAGE, "<a href='ht\ttp://e\nxample.com/'>"),
        ["http://example.com/"]
    );
    assert_eq!(links(PAGE, "<a href=' /x '>"), ["http://a.example/x"]);
}

/// case C20: fragments make no difference, queries do.
#[test]
fn fragments_make_no_new_link() {
    let body = "<a href='/g#a'></a><a href='/g#b'></a><a href='/g?page=2#c'></a>";
    assert_eq!(
        links("http://a.example/g", body),
        ["http://a.example/g", "http://a.example/g?page=2"]
    );
}

/// case C23: references of every shape.
#[test]
fn references_resolve() {
    for (href, expected) in [
        ("?p=2", "http://a.example/d/i.html?p=2"),
        ("", "http://a.example/d/i.html"),
        ("//cdn.example/x", "http://cdn.example/x"),
        ("../../../x", "http://a.example/x"),
        ("g", "http://a.example/d/g"),
        ("./", "http://a.example/d/"),
        ("#f", "http://a.example/d/i.html"),
    ] {
        assert_eq!(
            links(PAGE, format!("<a href='{href}'>")),
            [expected],
            "{href:?}"
        );
    }
}

/// case H7: dot segments are resolved, so they cannot pile up.
#[test]
fn dot_segments_do_not_pile_up() {
    let body = "<a href='././././x'></a><a href='/./././'></a><a href='%2e/./y'></a>";
    assert_eq!(
        links(PAGE, body),
        [
            "http://a.example/d/x",
            "http://a.example/",
            "http://a.example/d/y"
        ]
    );
}

/// case F1: the first base with an href, resolved against the document; an unusable one leaves the document's URL.
#[test]
fn base_elements() {
    for (head, href, expected) in [
        (
            "<base href='/app/'>",
            "my.html",
            "http://a.example/app/my.html",
        ),
        (
            "<base href='sub/'>",
            "my.html",
            "http://a.example/d/sub/my.html",
        ),
        (
            "<base href='/app/my.html'>",
            "?q",
            "http://a.example/app/my.html?q",
        ),
        (
            "<base target=x><base href='/one/'><base href='/two/'>",
            "x",
            "http://a.example/one/x",
        ),
        (
            "<base href='javascript:alert(1)'>",
            "x",
            "http://a.example/d/x",
        ),
        (
            "<base href='javascript:alert(1)'><base href='/two/'>",
            "x",
            "http://a.example/d/x",
        ),
        (
            "<base href='mailto:a@b.example'>",
            "x",
            "http://a.example/d/x",
        ),
        ("<base href='http://['>", "x", "http://a.example/d/x"),
        (
            "<base href='https://b.example/z/'>",
            "x",
            "https://b.example/z/x",
        ),
    ] {
        assert_eq!(
            links(PAGE, format!("{head}<a href='{href}'>")),
            [expected],
            "{head}"
        );
        assert_eq!(
            links(PAGE, format!("<a href='{href}'></a>{head}")),
            [expected],
            "a base behind: {head}"
        );
    }
    assert_eq!(
        extract(PAGE, "<base href='/app/'>").base,
        "http://a.example/app/"
    );
}

/// case F1: no more than so many references wait for a base.
#[test]
fn waiting_for_a_base_is_bounded() {
    let many: String = (0..1_500).map(|i| format!("<a href='{i}'></a>")).collect();
    let found = links(PAGE, format!("{many}<base href='/late/'><a href=z>"));
    assert_eq!(
        found.first().map(String::as_str),
        Some("http://a.example/d/0")
    );
    assert_eq!(
        found.last().map(String::as_str),
        Some("http://a.example/d/z")
    );
    assert_eq!(found.len(), 1_501);
}

/// case F2: references resolve against the URL that answered.
#[test]
fn the_final_url_is_the_base() {
    assert_eq!(
        links("http://b.example/y", "<a href='/z'>"),
        ["http://b.example/z"]
    );
}

/// case F7: candidates as the standard parts them, whatever the attribute's case.
#[test]
fn srcset() {
    let of = |set: &str| {
        links_of(
            LinkClass::Embed,
            "http://a.example/",
            format!("<img SRCSET=\"{set}\">"),
        )
    };
    assert_eq!(
        of("a,b 1x, c 2x"),
        ["http://a.example/a,b", "http://a.example/c"]
    );
    assert_eq!(
        of("a.jpg, b.jpg 2x"),
        ["http://a.example/a.jpg", "http://a.example/b.jpg"]
    );
    assert!(of("data:image/png;base64,x 1x").is_empty());
}

/// case F13: a link is what its rel says; quotations name no links.
#[test]
fn classes_by_rel() {
    let body = "<link rel=next href=/n><link rel=stylesheet href=/s><link rel=alternate hreflang=de href=/de><link rel='alternate stylesheet' href=/s2>\
        <link rel=icon href=/i><link rel=pingback href=/p><link rel=dns-prefetch href=//cdn.example><link href=/none>\
        <blockquote cite=/q></blockquote><img longdesc=/l src=/img><script src=/js></script><iframe src=/frame></iframe>\
        <object data=/o></object><video poster=/v></video><input type=image src=/b><input type=text src=/no>";
    let of = |class| links_of(class, "http://a.example/", body);
    let at = |paths: &[&str]| {
        paths
            .iter()
            .map(|path| format!("http://a.example{path}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(LinkClass::Page), at(&["/n", "/frame"]));
    assert_eq!(
        of(LinkClass::Embed),
        at(&["/s", "/s2", "/i", "/img", "/js", "/o", "/v", "/b"])
    );
    assert_eq!(of(LinkClass::Alternate), at(&["/de"]));
    assert_eq!(of(LinkClass::Other), at(&["/p", "/none"]));
    assert_eq!(extract("http://a.example/", body).to_follow().count(), 2);
}

/// case F17: http and https only.
#[test]
fn other_schemes_are_counted_and_dropped() {
    let body = "<a href='data:text/html,x'><a href='javascript:go()'><a href='mailto:a@b.example'><a href='tel:1'><a href='ftp://b.example/'>\
        <a href='HTTPS://b.example/'><a href='http://['><a href='http://b..example/'>";
    let extracted = extract(PAGE, body);
    assert_eq!(extracted.links.len(), 1);
    assert_eq!(
        (
            extracted.links_dropped.scheme,
            extracted.links_dropped.invalid
        ),
        (5, 2)
    );
    assert_eq!(extracted.links_dropped.total(), 7);
}

#[test]
fn refreshes_fields_and_document_order() {
    let info = ResponseInfo {
        link: vec!["</h>; rel=next, </c>; rel=canonical".into()],
        ..response(Some("text/html"))
    };
    let body = b"<base href=/b/><meta http-equiv=Refresh content='0; URL=r'><noscript><a href=n></noscript><a href=z><a href=r>";
    let extracted = extract_with(ExtractOptions::new("mybot"), info, body);
    let found: Vec<&str> = extracted
        .links
        .iter()
        .map(|link| link.url.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "http://a.example/h",
            "http://a.example/c",
            "http://a.example/b/r",
            "http://a.example/b/n",
            "http://a.example/b/z"
        ]
    );
    assert_eq!(extracted.canonical, Some(url("http://a.example/c")));
}
