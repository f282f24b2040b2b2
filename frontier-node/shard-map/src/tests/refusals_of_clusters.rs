//! Every refusal of founding, crawls and migrations: the reason, and that nothing changed.

use super::settings::{crawl, migration};
use crate::{
    Body, Command, Refusal, ShardMap,
    command::{Drain, Found, MigrateIdentity, SetCrawl},
    limits,
    testing::*,
};

#[test]
fn nothing_before_the_founding_and_no_second_one() {
    let empty = ShardMap::default();
    assert_eq!(refused(&empty, joining(1, 0)), Refusal::NotFounded);
    let mut map = cluster(3, 2);
    assert!(!run(&mut map, Body::Found(founding(3, 2))).changed);
    let other = Found {
        cluster_id: 9,
        ..founding(3, 2)
    };
    assert_eq!(
        refused(&map, Body::Found(other)),
        Refusal::AlreadyFounded(CLUSTER)
    );
}

#[test]
fn a_founding_that_makes_no_sense() {
    let changes: [fn(&mut Found); 8] = [
        |f| f.cluster_id = 0,
        |f| f.shards = 0,
        |f| f.shards = limits::SHARDS as u64 + 1,
        |f| f.replica_target = 0,
        |f| f.replica_target = 8,
        |f| f.nodes.clear(),
        |f| f.nodes[1].number = 1,
        |f| f.nodes[1].address = f.nodes[0].address.clone(),
    ];
    for change in changes {
        let mut found = founding(3, 2);
        change(&mut found);
        let refusal = refused(&ShardMap::default(), Body::Found(found));
        assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    }
}

#[test]
fn a_command_that_this_version_does_not_know() {
    let map = cluster(3, 2);
    assert_eq!(refused(&map, Command::default()), Refusal::UnknownCommand);
}

#[test]
fn a_crawl_that_makes_no_sense_or_was_removed() {
    let mut map = cluster(3, 2);
    let long = |name: usize, policy: usize| {
        Body::SetCrawl(SetCrawl {
            crawl: 1,
            name: "x".repeat(name),
            policy: vec![0; policy],
            removed: false,
        })
    };
    for body in [crawl(0, false), long(257, 0), long(0, 4_097)] {
        let refusal = refused(&map, body);
        assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    }
    run(&mut map, crawl(1, true));
    assert_eq!(refused(&map, crawl(1, false)), Refusal::CrawlRemoved(1));
    for id in 2..=limits::CRAWLS as u32 {
        run(&mut map, crawl(id, false));
    }
    let refusal = refused(&map, crawl(2_000, false));
    assert!(matches!(refusal, Refusal::Limit { .. }), "{refusal}");
}

#[test]
fn a_migration_of_a_cluster_that_is_not_drained() {
    let mut map = cluster(4, 2);
    let try_it = |map: &ShardMap, change: fn(&mut MigrateIdentity)| {
        let mut migrate = migration(map);
        change(&mut migrate);
        refused(map, Body::MigrateIdentity(migrate))
    };
    let other = try_it(&map, |m| m.from.canonicalizer_version = 9);
    assert!(matches!(other, Refusal::IdentityMismatch { .. }), "{other}");
    let missing = try_it(&map, |m| m.empty.truncate(1));
    assert_eq!(
        missing,
        Refusal::NotDrained("shard 2 may have URLs".to_owned())
    );
    let stale = try_it(&map, |m| m.empty[0].epoch = 9);
    assert!(matches!(stale, Refusal::StaleEpoch { .. }), "{stale}");
    run(&mut map, crawl(1, false));
    let crawling = try_it(&map, |_| {});
    assert_eq!(
        crawling,
        Refusal::NotDrained("crawl 1 is not removed".to_owned())
    );
    run(&mut map, crawl(1, true));
    let early = try_it(&map, |m| m.empty[1].map_version -= 1);
    assert!(matches!(early, Refusal::NotDrained(_)), "{early}");
    begin(&mut map, Body::Drain(Drain { node: 1 }));
    let busy = try_it(&map, |_| {});
    assert_eq!(busy, Refusal::NotDrained("job 1 is running".to_owned()));
}

#[test]
fn more_shards_or_nodes_than_may_be() {
    let map = cluster(3, limits::SHARDS as u64);
    let refusal = refused(&map, splitting(&map, 1, 5));
    assert!(
        matches!(
            refusal,
            Refusal::Limit {
                what: "the number of shards",
                ..
            }
        ),
        "{refusal}"
    );
    let nodes = u32::try_from(limits::NODES).unwrap();
    let map = cluster(nodes, 1);
    let refusal = refused(&map, joining(nodes + 1, 0));
    assert!(
        matches!(
            refusal,
            Refusal::Limit {
                what: "the number of nodes",
                ..
            }
        ),
        "{refusal}"
    );
}
