//! The public suffix algorithm against cases written from its rules, and against a plain reading of the definition.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Rules of every kind, in both sections, with comments after a blank.
const SMALL: &str = "\
// ===BEGIN ICANN DOMAINS===
com
uk
co.uk comment after a blank
jp
*.x.jp
!city.x.jp
*.ck
!www.ck
公司.cn
cn
рф
// ===END ICANN DOMAINS===
// ===BEGIN PRIVATE DOMAINS===
blogspot.com
*.customer.com
*.oci.customer.com
// ===END PRIVATE DOMAINS===
";

#[test]
fn rules_of_every_kind() {
    let list = SuffixList::parse(SMALL).unwrap();
    for (host, site) in [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("com", "com"),
        ("example.co.uk", "example.co.uk"),
        ("www.example.co.uk", "example.co.uk"),
        ("example.uk", "example.uk"),
        ("co.uk", "co.uk"),
        // A wildcard's own name is no suffix, one label more is, and two labels more are registrable.
        ("x.jp", "x.jp"),
        ("q.x.jp", "q.x.jp"),
        ("p.q.x.jp", "p.q.x.jp"),
        ("o.p.q.x.jp", "p.q.x.jp"),
        ("city.x.jp", "city.x.jp"),
        ("a.b.city.x.jp", "city.x.jp"),
        ("ck", "ck"),
        ("www.ck", "www.ck"),
        ("a.www.ck", "www.ck"),
        ("b.a.ck", "b.a.ck"),
        // The private section counts.
        ("blogspot.com", "blogspot.com"),
        ("me.blogspot.com", "me.blogspot.com"),
        ("a.me.blogspot.com", "me.blogspot.com"),
        // A more exact label that ends in no rule does not hide the wildcard beside it.
        ("customer.com", "customer.com"),
        ("oci.customer.com", "oci.customer.com"),
        ("r.oci.customer.com", "r.oci.customer.com"),
        ("h.r.oci.customer.com", "h.r.oci.customer.com"),
        ("g.h.r.oci.customer.com", "h.r.oci.customer.com"),
        // No rule: the last label is the suffix.
        ("a.b.unlisted", "b.unlisted"),
        ("unlisted", "unlisted"),
        // Rules in Unicode, hosts in A-labels.
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
        ("xn--55qx5d.cn", "xn--55qx5d.cn"),
        ("a.xn--e1aybc.xn--p1ai", "xn--e1aybc.xn--p1ai"),
    ] {
        assert_eq!(list.site(host).as_str(), site, "{host}");
    }
}

#[test]
fn addresses_and_bare_names_are_their_own_site() {
    let list = SuffixList::shipped();
    for host in [
        "192.0.2.4",
        "10.2.3.4",
        "[::1]",
        "[2001:db8::1]",
        "localhost",
        "intranet",
        "",
    ] {
        assert_eq!(list.site(host).as_str(), host);
    }
    // Not an address: only the last label decides that.
    assert_eq!(list.site("1.2.3.4.example.com").as_str(), "example.com");
}

#[test]
fn a_bad_list_is_refused_with_its_line() {
    let bad = |text| SuffixList::parse(text).unwrap_err();
    assert_eq!(bad(""), SuffixListError::Empty);
    assert_eq!(bad("// nothing\n\n"), SuffixListError::Empty);
    let rule = |line, reason| SuffixListError::Rule { line, reason };
    assert_eq!(bad("com\na.*.com"), rule(2, RuleError::Wildcard));
    assert_eq!(bad("com\n\n*foo.com"), rule(3, RuleError::Wildcard));
    assert_eq!(bad("!com"), rule(1, RuleError::Exception));
    assert_eq!(bad("a..com"), rule(1, RuleError::NotADomain));
    assert_eq!(bad(".com"), rule(1, RuleError::NotADomain));
    assert_eq!(bad("com."), rule(1, RuleError::NotADomain));
    assert_eq!(bad("<html>"), rule(1, RuleError::NotADomain));
    assert_eq!(bad("1.2.3.4"), rule(1, RuleError::NotADomain));
    let long = "com\n".repeat(MAX_SUFFIX_LIST_BYTES / 4 + 1);
    assert_eq!(
        bad(&long),
        SuffixListError::TooLong {
            length_bytes: long.len()
        }
    );
}

#[test]
fn the_shipped_list_is_whole() {
    let parsed = SuffixList::parse(SuffixList::shipped_text()).unwrap();
    assert_eq!(*SuffixList::shipped(), parsed);
    assert!(parsed.rules.len() > 9_000);
    assert!(
        SHIPPED.contains("Mozilla Public"),
        "the licence notice stays in the file"
    );
}

#[test]
fn the_digest_is_of_the_text() {
    let list = SuffixList::parse("com\n").unwrap();
    assert_eq!(list.digest(), xxh3_64(b"com\n"));
    assert_ne!(
        list.digest(),
        SuffixList::parse("com\n\n").unwrap().digest()
    );
}

#[test]
fn hosts_under_the_shipped_list() {
    let list = SuffixList::shipped();
    for (host, site) in [
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("a.b.github.io", "b.github.io"),
        ("github.io", "github.io"),
        ("x.city.kawasaki.jp", "city.kawasaki.jp"),
        ("y.x.kawasaki.jp", "y.x.kawasaki.jp"),
        ("bucket.s3.amazonaws.com", "bucket.s3.amazonaws.com"),
        ("oci.customer-oci.com", "oci.customer-oci.com"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.xn--85x722f.com.cn", "xn--85x722f.com.cn"),
    ] {
        assert_eq!(list.site(host).as_str(), site, "{host}");
    }
}

/// Rules as (labels from the last to the first, is an exception), by last label.
type PlainRules = BTreeMap<String, Vec<(Vec<String>, bool)>>;

/// The rules of a list, in A-labels, `*` kept as a label.
fn plain_rules(text: &str) -> PlainRules {
    let mut rules = PlainRules::new();
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("//"))
    {
        let rule = line.split_whitespace().next().unwrap();
        let name = rule.trim_start_matches('!');
        // Only what needs it goes through the host parser, which takes `0` for an address.
        let ascii = |label: &str| match label.is_ascii() {
            true => label.to_owned(),
            false => url::Host::parse(label).unwrap().to_string(),
        };
        let labels: Vec<String> = name.rsplit('.').map(ascii).collect();
        rules
            .entry(labels[0].clone())
            .or_default()
            .push((labels, rule.starts_with('!')));
    }
    rules
}

/// The definition, read plainly: of all rules that match label by label the longest exception prevails, else the longest
/// rule, else `*`; the site is the suffix and one label more.
fn plain_site(rules: &PlainRules, host: &str) -> String {
    let labels: Vec<&str> = host.rsplit('.').collect();
    let matches = |rule: &[String]| {
        rule.len() <= labels.len() && rule.iter().zip(&labels).all(|(r, l)| r == "*" || r == l)
    };
    let matching: Vec<_> = rules
        .get(labels[0])
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter(|(rule, _)| matches(rule))
        .collect();
    let exception = matching
        .iter()
        .filter(|(_, is_exception)| *is_exception)
        .map(|(rule, _)| rule.len() - 1)
        .max();
    let longest = matching
        .iter()
        .map(|(rule, _)| rule.len())
        .max()
        .unwrap_or(1);
    let site_labels = (exception.unwrap_or(longest) + 1).min(labels.len());
    labels[..site_labels]
        .iter()
        .rev()
        .copied()
        .collect::<Vec<_>>()
        .join(".")
}

// case C26: every rule of the shipped list, at its own name, one label less and up to three labels more.
#[test]
fn every_shipped_rule_as_the_definition_says() {
    let list = SuffixList::shipped();
    let rules = plain_rules(SHIPPED);
    let mut checked = 0;
    for (labels, _) in rules.values().flatten() {
        let name = labels
            .iter()
            .rev()
            .map(|l| if l == "*" { "wild" } else { l })
            .collect::<Vec<_>>()
            .join(".");
        let parent = name
            .split_once('.')
            .map_or("parent", |(_, parent)| parent)
            .to_owned();
        for host in [
            parent,
            name.clone(),
            format!("a.{name}"),
            format!("b.a.{name}"),
            format!("c.b.a.{name}"),
        ] {
            assert_eq!(
                list.site(&host).as_str(),
                plain_site(&rules, &host),
                "{host}"
            );
            checked += 1;
        }
    }
    assert!(checked > 45_000, "{checked}");
}

fn rule_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "([a-c]\\.){0,2}[a-c]",
        "\\*\\.([a-c]\\.){0,2}[a-c]",
        "!([a-c]\\.){1,2}[a-c]"
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_lists_as_the_definition_says(
        rules in prop::collection::vec(rule_text(), 1..12),
        host in prop::collection::vec("[a-d]", 1..7).prop_map(|labels| labels.join(".")),
    ) {
        let text = rules.join("\n");
        let list = SuffixList::parse(&text).unwrap();
        let site = list.site(&host);
        let expected = plain_site(&plain_rules(&text), &host);
        prop_assert_eq!(site.as_str(), expected.as_str());
        prop_assert_eq!(list.site(site.as_str()), site);
    }

    #[test]
    fn no_text_makes_the_reader_or_the_lookup_panic(text in any::<String>(), host in any::<String>()) {
        if let Ok(list) = SuffixList::parse(&text) {
            prop_assert!(host.ends_with(list.site(&host).as_str()));
        }
        prop_assert!(host.ends_with(SuffixList::shipped().site(&host).as_str()));
    }
}
