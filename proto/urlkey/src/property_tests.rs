//! Properties that hold for every text.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use url::Url;

use crate::percent::triplet;
use crate::{
    CanonicalOptions, CanonicalUrl, Canonicalizer, Fingerprint, HostName, PartitionHash, QueueKey,
    SuffixList, UrlKey, partition_hash,
};

/// Text that looks like a URL often enough to get past the parser, dense in what canonicalisation changes.
fn url_like() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![6 => Just("http://"), 6 => Just("https://"), 2 => Just("HtTp:"), 2 => Just(" https:/\t/"), 1 => Just("")];
    let userinfo = prop_oneof![6 => Just(String::new()), 1 => "[a-z@:%#]{0,6}@"];
    let port = prop_oneof![4 => Just(String::new()), 1 => ":[0-9]{0,5}"];
    (scheme, userinfo, host(), port, tail()).prop_map(|(s, u, h, p, t)| format!("{s}{u}{h}{p}{t}"))
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "([a-zA-Z0-9_-]{1,8}\\.){1,3}(com|co\\.uk|jp|example|github\\.io)\\.?",
        2 => "[a-zA-Z0-9]{1,4}(%2[eE]|%6[0-9]|[.])[a-z]{1,6}",
        1 => "[a-zA-Z0-9.%_-]{1,20}",
        1 => "[a-zäßéñ公司。Ⅷ½\u{ad}.-]{1,12}",
        1 => "xn--[a-z0-9-]{1,8}\\.com",
        1 => "(0x)?[0-9a-f.]{1,12}",
        1 => "([0-9]{1,3}\\.){1,3}[0-9]{1,3}\\.?",
        1 => "\\[[0-9a-f]{0,4}::?[0-9a-f:.]{1,16}\\]",
    ]
}

/// Path, query and fragment; also a reference.
fn tail() -> impl Strategy<Value = String> {
    prop_oneof![
        // Half triplets next to triplets of hex digits, dots and percent signs: what decoding could join.
        4 => "[/?]([/.\\\\&]|%|%25|%2[eE]|%3[0-9]|%[46][1-7]|[0-9a-fA-F]){0,12}",
        1 => "[/?][%0-9a-fA-F./?&=+#~ ]{0,40}",
        1 => "[/?][ -~\t\n\u{0}-\u{1f}]{0,30}",
        1 => "[/?]\\PC{0,20}",
        1 => "[./?#%a-f]{0,10}",
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => url_like(),
        8 => tail().prop_map(|tail| format!("http://h.example{tail}")),
        1 => tail(),
        1 => any::<String>(),
        1 => prop::collection::vec(any::<u8>(), 0..60).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        1 => prop::collection::vec(any::<u8>(), 0..60)
            .prop_map(|bytes| format!("http://h.example/{}", String::from_utf8_lossy(&bytes))),
    ]
}

fn any_options() -> impl Strategy<Value = CanonicalOptions> {
    (
        prop::collection::vec("[a-f0-9%=&+ ]{1,2}", 0..4),
        any::<bool>(),
    )
        .prop_map(|(drop_params, sort_query)| CanonicalOptions {
            drop_params,
            sort_query,
            ..CanonicalOptions::default()
        })
}

/// What a text means once each triplet is its byte.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match triplet(bytes, at).filter(|_| bytes[at] == b'%') {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn canonical_form_is_a_fixed_point(input in any_text()) {
        let canonicalizer = Canonicalizer::default();
        if let Ok(url) = canonicalizer.canonicalize(&input) {
            prop_assert_eq!(canonicalizer.canonicalize(url.as_str()), Ok(url.clone()));
            prop_assert_eq!(CanonicalUrl::verify(url.as_str(), 2_048), Ok(url.clone()));
            let parsed = Url::parse(url.as_str()).unwrap();
            prop_assert_eq!(parsed.as_str(), url.as_str());
        }
    }

    #[test]
    fn verify_takes_exactly_the_canonical_form(input in any_text()) {
        let canonical = Canonicalizer::default().canonicalize(&input);
        let is_canonical = canonical.as_ref().is_ok_and(|url| url.as_str() == input);
        prop_assert_eq!(CanonicalUrl::verify(&input, 2_048).is_ok(), is_canonical);
    }

    #[test]
    fn path_and_query_keep_their_meaning(input in any_text()) {
        if let (Ok(url), Ok(parsed)) = (Canonicalizer::default().canonicalize(&input), Url::parse(&input)) {
            let query = parsed.query().map(|query| format!("?{query}")).unwrap_or_default();
            let before = format!("{}{query}", parsed.path());
            prop_assert_eq!(decoded(url.path_and_query()), decoded(&before));
        }
    }

    #[test]
    fn parts_make_the_whole(input in any_text()) {
        if let Ok(url) = Canonicalizer::default().canonicalize(&input) {
            prop_assert!(url.as_str().bytes().all(|b| b.is_ascii_graphic() && b != b'#'), "{}", url);
            prop_assert_eq!(format!("{}{}", url.origin(), url.path_and_query()), url.as_str());
            prop_assert_eq!(format!("{}://{}", url.scheme(), url.authority()), url.origin());
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            prop_assert_eq!(format!("{}{port}", url.host()), url.authority());
            prop_assert_eq!(HostName::parse(url.host()), Ok(url.host_name()));
            let parsed = url.to_url().unwrap();
            prop_assert_eq!(parsed.host_str(), Some(url.host()));
            prop_assert_eq!(parsed.port_or_known_default(), Some(url.effective_port()));
        }
    }

    #[test]
    fn options_give_a_form_that_every_node_takes(input in any_text(), options in any_options()) {
        let canonicalizer = Canonicalizer::new(options).unwrap();
        if let Ok(url) = canonicalizer.canonicalize(&input) {
            prop_assert_eq!(CanonicalUrl::verify(url.as_str(), 2_048), Ok(url.clone()));
            prop_assert_eq!(canonicalizer.canonicalize(url.as_str()), Ok(url));
        }
    }

    #[test]
    fn join_never_panics_and_is_canonical(base in any_text(), reference in any_text()) {
        let canonicalizer = Canonicalizer::default();
        let base = canonicalizer
            .canonicalize(&base)
            .unwrap_or_else(|_| canonicalizer.canonicalize("https://base.example/a/b?c").unwrap());
        if let Ok(url) = canonicalizer.join(&base, &reference) {
            prop_assert_eq!(CanonicalUrl::verify(url.as_str(), 2_048), Ok(url.clone()));
            prop_assert_eq!(canonicalizer.join(&base, url.as_str()), Ok(url));
        }
        prop_assert_eq!(canonicalizer.join(&base, ""), Ok(base));
    }

    #[test]
    fn a_site_is_the_end_of_its_host_at_a_dot(input in url_like()) {
        if let Ok(url) = Canonicalizer::default().canonicalize(&input) {
            let list = SuffixList::shipped();
            let site = list.site(url.host());
            let before = url.host().strip_suffix(site.as_str());
            prop_assert!(before.is_some_and(|before| before.is_empty() || before.ends_with('.')), "{} {}", url, site);
            prop_assert!(!site.as_str().is_empty());
            prop_assert_eq!(list.site(site.as_str()), site.clone());
            prop_assert_eq!(partition_hash(&site), partition_hash(&list.site(site.as_str())));
        }
    }

    #[test]
    fn host_and_queue_keys_never_panic_and_keep_their_text(input in any_text()) {
        if let Ok(host) = HostName::parse(&input) {
            prop_assert_eq!(host.as_str(), input.as_str());
        }
        if let Ok(key) = QueueKey::parse(&input) {
            prop_assert_eq!(key.as_str(), input.as_str());
        }
    }

    #[test]
    fn the_order_of_keys_is_the_order_of_their_bytes(a in any::<(u64, u64)>(), b in any::<(u64, u64)>(), same in any::<bool>()) {
        let key = |(partition, fingerprint)| UrlKey { partition: PartitionHash(partition), fingerprint: Fingerprint(fingerprint) };
        let (a, b) = (key(a), key(if same { (a.0, b.1) } else { b }));
        prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        prop_assert_eq!(UrlKey::from_bytes(a.to_bytes()), a);
        let bytes = [a.partition.to_be_bytes(), a.fingerprint.to_be_bytes()].concat();
        prop_assert_eq!(bytes, a.to_bytes());
    }
}
