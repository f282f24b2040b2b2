//! The generated web: reproducible, bounded, and found again by its own paths.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};

use super::unit::UnitKind;
use super::*;

fn web(hosts: u32, seed: u64) -> Web {
    Web::new(&FakeWebOptions::new(hosts, seed))
}

/// Every URL of a host.
fn all(web: &Web, host: &Host) -> Vec<Found> {
    (0..host.units)
        .flat_map(|unit| {
            let kind = web.unit_kind(host, unit);
            (0..web.members(kind)).map(move |member| web.at(host, unit, kind, member))
        })
        .collect()
}

#[test]
fn every_url_is_found_by_its_path_and_no_two_share_one() {
    let web = web(300, 11);
    for index in 0..300 {
        let host = web.host(index);
        let mut paths = BTreeSet::new();
        for found in all(&web, &host) {
            assert_eq!(canonical_path(&found.path), found.path);
            let again = web.lookup(&host, &found.path).unwrap();
            assert_eq!(
                (again.unit, again.member),
                (found.unit, found.member),
                "{}",
                found.path
            );
            assert!(web.robots_answer(&host, &found.path).is_none());
            assert!(paths.insert(found.path));
        }
    }
}

#[test]
fn a_host_stays_within_its_bound_and_slow_ones_are_small() {
    let web = web(3000, 12);
    let most = web.shape.max_pages_per_host;
    let mut largest = 0;
    for index in 0..3000 {
        let host = web.host(index);
        let urls = all(&web, &host).len() as u32;
        let fetch_ms = 1000
            .max(host.slow_ms * 10)
            .max(host.robots.crawl_delay_ms());
        assert!(
            urls * fetch_ms <= (most * 1000).max(fetch_ms),
            "{index}: {urls} URLs at {fetch_ms} ms"
        );
        largest = largest.max(urls);
    }
    assert!(largest > most / 2);
}

#[test]
fn at_most_one_url_of_a_host_makes_trouble() {
    let web = web(1000, 13);
    for index in 0..1000 {
        let troubles = all(&web, &web.host(index))
            .iter()
            .filter(|found| {
                matches!(
                    found.resource,
                    Resource::Status(500) | Resource::BodyAfter(_) | Resource::Cut
                )
            })
            .count();
        assert!(troubles <= 1);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    let bytes = |seed| {
        let web = web(50, seed);
        let mut bytes = Vec::new();
        for index in 0..50 {
            let host = web.host(index);
            bytes.extend(format!("{host:?}").into_bytes());
            for found in all(&web, &host) {
                bytes.extend(web.payload(&host, &found).bytes);
            }
        }
        bytes
    };
    assert_eq!(bytes(7), bytes(7));
    assert_ne!(bytes(7), bytes(8));
}

#[test]
fn a_host_does_not_depend_on_the_order_of_asking_nor_on_state() {
    let web = web(1_000_000, 14);
    let late = format!("{:?}", web.host(999_999));
    (0..100).for_each(|index| drop(web.host(index)));
    assert_eq!(late, format!("{:?}", web.host(999_999)));
    let host = web.host(999_999);
    let root = web.lookup(&host, "/").unwrap();
    assert!(!web.payload(&host, &root).bytes.is_empty());
}

#[test]
fn robots_files_of_every_kind_occur() {
    let web = web(2000, 15);
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for index in 0..2000 {
        let name = format!("{:?}", web.host(index).robots);
        *kinds
            .entry(name.split('(').next().unwrap().to_owned())
            .or_default() += 1;
    }
    for kind in [
        "Absent",
        "Allow",
        "Empty",
        "Rules",
        "DisallowAll",
        "CrawlDelay",
        "Error",
        "MovedWithin",
        "MovedTo",
        "Huge",
    ] {
        assert!(
            kinds.get(kind).is_some_and(|count| *count >= 10),
            "{kind}: {kinds:?}"
        );
    }
    assert!(kinds["Error"] + kinds["DisallowAll"] < 200);
}

#[test]
fn a_huge_robots_file_says_everything_within_the_first_500_kib() {
    let web = web(2000, 15);
    let host = (0..2000)
        .map(|index| web.host(index))
        .find(|host| host.robots == RobotsKind::Huge)
        .unwrap();
    let Some(RobotsAnswer::File(text)) = web.robots_answer(&host, "/robots.txt") else {
        panic!()
    };
    assert!(text.len() > 512_000);
    let tail = String::from_utf8(text[500 << 10..].to_vec()).unwrap();
    assert!(
        tail.lines()
            .skip(1)
            .all(|line| line.starts_with('#') || line.is_empty())
    );
}

#[test]
fn some_bytes_are_the_same_at_several_hosts() {
    let web = web(200, 16);
    let mut hosts_by_bytes: BTreeMap<Vec<u8>, BTreeSet<u32>> = BTreeMap::new();
    for index in 0..200 {
        let host = web.host(index);
        for found in all(&web, &host)
            .iter()
            .filter(|found| matches!(found.kind, UnitKind::Duplicate(_)))
        {
            hosts_by_bytes
                .entry(web.payload(&host, found).bytes)
                .or_default()
                .insert(index);
        }
    }
    assert!(hosts_by_bytes.values().any(|hosts| hosts.len() > 1));
    assert!(hosts_by_bytes.len() <= 8);
}

#[test]
fn knobs_are_heeded() {
    let mut options = FakeWebOptions::new(20, 17);
    options.features = Features::none();
    options.shape.links_per_page = 62;
    options.shape.body_min_bytes = 100_000;
    options.shape.body_max_bytes = 100_000;
    let web = Web::new(&options);
    for index in 0..20 {
        let host = web.host(index);
        for found in all(&web, &host) {
            assert_eq!(found.resource, Resource::Body);
            let payload = web.payload(&host, &found);
            assert!((99_000..102_000).contains(&payload.bytes.len()));
            let text = String::from_utf8(payload.bytes).unwrap();
            assert!(text.matches("<a href=").count() >= 62);
        }
    }
}

#[test]
fn options_out_of_range_are_named() {
    let mut options = FakeWebOptions::new(0, 1);
    assert_eq!(
        options.validate().unwrap_err().to_string(),
        "hosts is 0, must be between 1 and 10000000"
    );
    options.hosts = 1;
    options.shape.body_min_bytes = 9_000;
    assert!(
        options
            .validate()
            .unwrap_err()
            .to_string()
            .starts_with("body_min_bytes is 9000")
    );
}
