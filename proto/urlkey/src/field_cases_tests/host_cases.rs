//! Field cases about hosts, ports, sites and the coding of keys.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{canonical, key, kind};
use crate::{Canonicalizer, HostName, QueueKey, SuffixList, UrlKey};

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
