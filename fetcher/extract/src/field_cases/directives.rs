//! Cases of F about rel, robots directives and canonical addresses.

use super::{PAGE, response};
use crate::testing::{extract, extract_with, url};
use crate::{Directives, ExtractOptions, ResponseInfo};

fn directives(head: &str) -> (bool, bool) {
    let Directives {
        noindex, nofollow, ..
    } = extract(PAGE, head).directives;
    (noindex, nofollow)
}

/// case F4: rel is a set of tokens without case.
#[test]
fn rel_is_a_set_of_tokens() {
    for (rel, nofollow) in [
        ("noopener NoFollow ugc", true),
        ("NOFOLLOW", true),
        ("noopener\tnofollow", true),
        ("nofollower", false),
        ("", false),
        ("no follow", false),
    ] {
        let extracted = extract(PAGE, format!("<a rel='{rel}' href=/x>"));
        assert_eq!(extracted.links[0].nofollow, nofollow, "{rel:?}");
        assert_eq!(
            extracted.to_follow().count(),
            usize::from(!nofollow),
            "{rel:?}"
        );
    }
    let both = extract(PAGE, "<a rel=nofollow href=/x></a><a href=/x></a>");
    assert!(!both.links[0].nofollow, "one use without it is enough");
}

/// case F5: flags are independent, none is both, all tags that apply count, those for others do not.
#[test]
fn robots_meta_tags() {
    for (head, expected) in [
        ("<meta name=robots content='noindex,follow'>", (true, false)),
        ("<meta name=ROBOTS content=NONE>", (true, true)),
        (
            "<meta content='nofollow , noindex' name='robots'>",
            (true, true),
        ),
        ("<meta name=mybot content=nofollow>", (false, true)),
        (
            "<meta name=robots content=noindex><meta name=MyBot content=nofollow>",
            (true, true),
        ),
        ("<meta name=otherbot content=none>", (false, false)),
        (
            "<meta name=robots content='index, follow, max-snippet:-1'>",
            (false, false),
        ),
        ("<meta name=robots content='noindexed'>", (false, false)),
        ("<meta name=description content='none'>", (false, false)),
    ] {
        assert_eq!(directives(head), expected, "{head}");
    }
    let held = extract(PAGE, "<a href=/x></a><meta name=robots content=nofollow>");
    assert_eq!((held.links.len(), held.to_follow().count()), (1, 0));
    let open = extract(PAGE, "<meta name=robots content=noindex,follow><a href=/x>");
    assert_eq!(open.to_follow().count(), 1, "noindex does not stop links");
}

/// case F5: the field counts like the tag, whatever the body's type.
#[test]
fn robots_fields() {
    let fields = vec![
        "noindex".to_owned(),
        "otherbot: nofollow".to_owned(),
        "MyBot: noarchive".to_owned(),
    ];
    let info = ResponseInfo {
        x_robots_tag: fields,
        ..response(Some("application/pdf"))
    };
    let found = extract_with(ExtractOptions::new("mybot/1.0"), info, b"%PDF").directives;
    assert_eq!(
        found,
        Directives {
            noindex: true,
            noarchive: true,
            ..Directives::default()
        }
    );
}

/// case F14: a canonical address is a hint and never a hop.
#[test]
fn canonical_is_a_hint() {
    let extracted = extract(
        PAGE,
        "<link rel=canonical href='/d/i.html/'><link rel=canonical href=/second><a href=/x>",
    );
    assert_eq!(extracted.canonical, Some(url("http://a.example/d/i.html/")));
    let followed: Vec<&str> = extracted
        .to_follow()
        .map(|link| link.url.as_str())
        .collect();
    assert_eq!(followed, ["http://a.example/x"]);
}
