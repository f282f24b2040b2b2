//! Who may depend on whom, read from `cargo metadata`: the layering is a rule, not a habit.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use cargo_metadata::{CargoOpt, DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// What each crate of the workspace may use of the workspace, in production code.
const MAY_USE: &[(&str, &[&str])] = &[
    ("urlkey", &[]),
    ("proto", &[]),
    ("program", &[]),
    ("placement-ring", &[]),
    ("machine", &["urlkey"]),
    ("shard-map", &["placement-ring"]),
    ("raftlog", &[]),
    ("client", &["proto", "urlkey"]),
    (
        "frontier-node",
        &[
            "machine",
            "shard-map",
            "raftlog",
            "raft-net",
            "proto",
            "urlkey",
            "client",
            "page-store",
            "page-service",
            "program",
        ],
    ),
    ("raft-net", &["proto", "raftlog"]),
    ("robots", &[]),
    ("extract", &["urlkey"]),
    ("page-store", &[]),
    ("page-service", &["page-store", "placement-ring", "proto"]),
    (
        "fetcher",
        &[
            "client",
            "proto",
            "urlkey",
            "page-store",
            "page-service",
            "robots",
            "extract",
            "program",
        ],
    ),
    ("fakeweb", &[]),
    (
        "escapement",
        &[
            "frontier-node",
            "fetcher",
            "page-store",
            "page-service",
            "client",
            "proto",
            "program",
            "urlkey",
            "machine",
            "shard-map",
            "raft-net",
            "raftlog",
            "robots",
            "extract",
            "fakeweb",
        ],
    ),
    (
        "tests",
        &[
            "frontier-node",
            "fetcher",
            "page-store",
            "page-service",
            "client",
            "proto",
            "program",
            "urlkey",
            "machine",
            "shard-map",
            "raft-net",
            "raftlog",
            "robots",
            "extract",
            "fakeweb",
        ],
    ),
];

/// What the pure crates may use from outside, in production code.
const PURE: &[(&str, &[&str])] = &[
    ("machine", &["prost", "smallvec", "thiserror"]),
    ("placement-ring", &["xxhash-rust"]),
    (
        "shard-map",
        &["placement-ring", "prost", "thiserror", "xxhash-rust"],
    ),
    (
        "urlkey",
        &[
            "url",
            "percent-encoding",
            "siphasher",
            "xxhash-rust",
            "thiserror",
        ],
    ),
    ("robots", &["thiserror"]),
];

/// Crates that only one of ours may know.
const ONLY_BY: &[(&str, &[&str])] = &[
    ("openraft", &["raftlog"]),
    ("rocksdb", &["raftlog", "frontier-node", "page-store"]),
    ("reqwest", &["fetcher"]),
];

fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .features(CargoOpt::AllFeatures)
        .no_deps()
        .exec()
        .unwrap();
    metadata
        .packages
        .iter()
        .map(|package| {
            let used = package
                .dependencies
                .iter()
                .filter(|d| d.kind == DependencyKind::Normal);
            (
                package.name.to_string(),
                used.map(|d| d.name.clone()).collect(),
            )
        })
        .collect()
}

#[test]
fn every_crate_uses_only_what_its_layer_may() {
    let uses = uses();
    let named: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    let there: BTreeSet<&str> = uses.keys().map(String::as_str).collect();
    assert_eq!(
        named, there,
        "the table names the workspace's crates, no more and no fewer"
    );
    for (name, allowed) in MAY_USE {
        for used in uses[*name]
            .iter()
            .filter(|used| there.contains(used.as_str()))
        {
            assert!(
                allowed.contains(&used.as_str()),
                "{name} must not depend on {used}"
            );
        }
    }
}

#[test]
fn pure_crates_use_nothing_that_does_io() {
    let uses = uses();
    for (name, allowed) in PURE {
        for used in &uses[*name] {
            assert!(
                allowed.contains(&used.as_str()) || used == "urlkey",
                "{name} is pure and must not depend on {used}"
            );
        }
    }
}

#[test]
fn the_log_and_the_http_client_are_known_to_one_crate_each() {
    for (dependency, owners) in ONLY_BY {
        for (name, used) in uses() {
            assert!(
                !used.contains(*dependency) || owners.contains(&name.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn nothing_depends_on_the_tests() {
    for (name, used) in uses() {
        assert!(!used.contains("tests"), "{name} depends on the tests");
        assert!(
            !used.contains("fakeweb") || name == "escapement" || name == "tests",
            "{name} uses the fake web"
        );
    }
}
