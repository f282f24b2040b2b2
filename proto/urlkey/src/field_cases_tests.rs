//! Cases from the field that touch canonical URLs and keys, one test each, named after the case.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::{
    CanonicalUrl, Canonicalizer, CrawlId, FingerprintKey, HostName, QueueKey, SuffixList, UrlError,
    UrlKey, partition_hash,
};

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

fn joined(base: &str, reference: &str) -> String {
    let canonicalizer = Canonicalizer::default();
    let base = canonicalizer.canonicalize(base).unwrap();
    canonicalizer
        .join(&base, reference)
        .unwrap_or_else(|error| panic!("{reference}: {error}"))
        .to_string()
}

fn key(url: &str) -> UrlKey {
    let url = Canonicalizer::default().canonicalize(url).unwrap();
    let partition = partition_hash(&SuffixList::shipped().site(url.host()));
    UrlKey {
        partition,
        fingerprint: FingerprintKey::ZERO.fingerprint(CrawlId(1), &url),
    }
}

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

// case B25: no two hosts, labels or keys share a coding; nothing is cut at a dot.
#[test]
fn b25_key_coding_is_injective() {
    let hosts = [
        "foo",
        "foo.example",
        "foo.example.org",
        "example",
        "oo.example",
        "fo.o.example",
    ];
    for a in hosts {
        assert_eq!(HostName::parse(a).unwrap().as_str(), a);
        assert_eq!(QueueKey::from(&HostName::parse(a).unwrap()).as_str(), a);
        for b in hosts {
            let (key_a, key_b) = (key(&format!("http://{a}/")), key(&format!("http://{b}/")));
            assert_eq!(a == b, key_a.to_bytes() == key_b.to_bytes(), "{a} {b}");
            assert_eq!(UrlKey::from_bytes(key_a.to_bytes()), key_a);
        }
    }
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

// case C7
#[test]
fn c7_percent_encoded_host_is_decoded() {
    assert_eq!(canonical("https://example%2Ecom/"), "https://example.com/");
    assert_eq!(
        canonical("http://www.s%c3%a4nger.example/"),
        "http://www.xn--snger-gra.example/"
    );
    for forbidden in [
        "http://a%2Fb.example/",
        "http://a%23b.example/",
        "http://a%40b.example/",
        "http://a%25b.example/",
    ] {
        assert_eq!(kind(forbidden), "invalid_host", "{forbidden}");
    }
}

// case C8
#[test]
fn c8_one_key_for_unicode_punycode_and_trailing_dot() {
    assert_eq!(
        canonical("http://bücher.example/"),
        "http://xn--bcher-kva.example/"
    );
    assert_eq!(
        canonical("http://xn--bcher-kva.example/"),
        "http://xn--bcher-kva.example/"
    );
    assert_eq!(
        canonical("http://BÜCHER.example./"),
        "http://xn--bcher-kva.example/"
    );
    assert_eq!(canonical("http://example.com./"), "http://example.com/");
    assert_eq!(
        canonical("http://example.com.:8080/x"),
        "http://example.com:8080/x"
    );
    assert_eq!(kind("http://example.com../"), "invalid_host");
}

// case C10
#[test]
fn c10_names_that_cannot_resolve_are_refused() {
    assert_eq!(kind("http://a..b.example/"), "invalid_host");
    assert_eq!(kind("http://.a.example/"), "invalid_host");
    assert_eq!(kind("http://./"), "invalid_host");
    assert_eq!(
        kind(&format!("http://{}.example/", "a".repeat(64))),
        "invalid_host"
    );
    assert!(canonical(&format!("http://{}.example/", "a".repeat(63))).len() > 63);
    let name = [
        "a".repeat(63),
        "b".repeat(63),
        "c".repeat(63),
        "d".repeat(61),
    ]
    .join(".");
    assert_eq!(
        canonical(&format!("http://{name}./")),
        format!("http://{name}/")
    );
    assert_eq!(kind(&format!("http://{name}d/")), "invalid_host");
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

// case C13
#[test]
fn c13_only_the_schemes_own_default_port_goes() {
    assert_eq!(canonical("http://h.example:443/"), "http://h.example:443/");
    assert_eq!(canonical("https://h.example:443/"), "https://h.example/");
    assert_eq!(canonical("http://h.example:80/"), "http://h.example/");
    assert_eq!(canonical("https://h.example:80/"), "https://h.example:80/");
    assert_eq!(
        SuffixList::shipped().site("192.0.2.4").as_str(),
        "192.0.2.4"
    );
    assert_eq!(SuffixList::shipped().site("10.2.3.4").as_str(), "10.2.3.4");
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

// case C16
#[test]
fn c16_the_last_at_sign_ends_user_information() {
    assert_eq!(
        canonical("http://u@x:p@q@host.example/"),
        "http://host.example/"
    );
    assert_eq!(
        canonical("http://u@host.example/a@b"),
        "http://host.example/a@b"
    );
    // A `#` ends the authority, so what is behind it is no host to contact.
    assert_eq!(
        canonical("http://a.example#@b.example/"),
        "http://a.example/"
    );
    assert_eq!(
        canonical("http://u%23:p@host.example/"),
        "http://host.example/"
    );
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

// case C19
#[test]
fn c19_www_is_another_authority() {
    let canonicalizer = Canonicalizer::default();
    let apex = canonicalizer.canonicalize("http://example.com/").unwrap();
    let www = canonicalizer
        .canonicalize("http://www.example.com/")
        .unwrap();
    assert_ne!(apex.origin(), www.origin());
    assert_ne!(apex.host_name(), www.host_name());
    assert_eq!(
        SuffixList::shipped().site(apex.host()),
        SuffixList::shipped().site(www.host())
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

// case C22
#[test]
fn c22_host_and_queue_keys_are_bounded() {
    assert_eq!(
        kind(&format!("http://{}/", "a.".repeat(5_000))),
        "invalid_host"
    );
    assert!(HostName::parse(&"a".repeat(10_000)).is_err());
    assert!(QueueKey::parse(&"a".repeat(10_000)).is_err());
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

// case C25
#[test]
fn c25_ipv6_in_one_form() {
    assert_eq!(canonical("http://[::1]/"), "http://[::1]/");
    assert_eq!(
        canonical("http://[2001:DB8:0:0:0:0:0:1]:80/"),
        "http://[2001:db8::1]/"
    );
    assert_eq!(
        canonical("http://[2001:db8::1]:8080/"),
        "http://[2001:db8::1]:8080/"
    );
    assert_eq!(
        canonical("http://[::ffff:192.0.2.1]/"),
        "http://[::ffff:c000:201]/"
    );
    assert_eq!(kind("http://[fe80::1%25eth0]/"), "invalid_host");
    assert_eq!(kind("http://[fe80::1%eth0]/"), "invalid_host");
    assert_eq!(kind("http://[::1/"), "invalid_host");
    assert_eq!(
        SuffixList::shipped().site("[2001:db8::1]").as_str(),
        "[2001:db8::1]"
    );
}

// case C26: further cases of the algorithm stand beside the suffix list.
#[test]
fn c26_registrable_domains() {
    let list = SuffixList::parse("jp\n*.x.jp\n!city.x.jp\ncom\n公司.cn\ncn\n").unwrap();
    let site = |url: &str| {
        list.site(Canonicalizer::default().canonicalize(url).unwrap().host())
            .to_string()
    };
    assert_eq!(site("http://a.b.c.x.jp/"), "b.c.x.jp");
    assert_eq!(site("http://c.x.jp/"), "c.x.jp");
    assert_eq!(site("http://www.city.x.jp/"), "city.x.jp");
    assert_eq!(site("http://com/"), "com");
    assert_eq!(
        site("http://www.食狮.公司.cn/"),
        "xn--85x722f.xn--55qx5d.cn"
    );
    assert_eq!(
        site("http://www.xn--85x722f.xn--55qx5d.cn/"),
        "xn--85x722f.xn--55qx5d.cn"
    );
    assert_ne!(list.digest(), SuffixList::shipped().digest());
}
