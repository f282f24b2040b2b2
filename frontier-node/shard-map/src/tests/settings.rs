//! Crawls, pins and the identity.

use crate::{
    Body, Identity, ShardMap,
    command::{EmptyShard, MigrateIdentity, Pin, SetCrawl},
    placement,
    testing::*,
};

pub(super) fn crawl(crawl: u32, removed: bool) -> Body {
    Body::SetCrawl(SetCrawl {
        crawl,
        name: "news".to_owned(),
        policy: vec![8, 1],
        removed,
    })
}

pub(super) const NEXT: Identity = Identity {
    suffix_list_digest: 0x52,
    ..IDENTITY
};

pub(super) fn migration(map: &ShardMap) -> MigrateIdentity {
    let empty = |shard: &crate::Shard| EmptyShard {
        shard: shard.id,
        epoch: shard.members.epoch,
        map_version: map.version,
    };
    MigrateIdentity {
        from: IDENTITY,
        to: NEXT,
        empty: map.shards.iter().map(empty).collect(),
    }
}

#[test]
fn a_crawl_is_set_once_and_its_change_has_a_version() {
    let mut map = cluster(3, 1);
    assert!(run(&mut map, crawl(7, false)).changed);
    let since = map.crawl(7).unwrap().changed_version;
    assert_eq!(since, map.version);
    run(&mut map, joining(4, 0));
    assert!(!run(&mut map, crawl(7, false)).changed);
    assert_eq!(map.crawl(7).unwrap().changed_version, since);
    run(&mut map, crawl(7, true));
    assert_eq!(map.crawl(7).unwrap().changed_version, map.version);
}

#[test]
fn a_pin_is_followed_and_the_ring_leaves_it_alone() {
    let mut map = cluster(5, 6);
    run(
        &mut map,
        Body::Pin(Pin {
            shard: 4,
            nodes: vec![5, 1, 2],
        }),
    );
    for _ in 0..3 {
        let moves = placement::repairs(&map, &NOBODY);
        carry_out(&mut map, moves);
    }
    assert_eq!(nodes_of(&map, 4), [1, 2, 5]);
    run(&mut map, joining(6, 0));
    assert!(
        placement::on_join(&map, 6)
            .iter()
            .all(|moved| moved.shard != 4)
    );
    run(
        &mut map,
        Body::Pin(Pin {
            shard: 4,
            nodes: vec![],
        }),
    );
    assert!(map.members(4).unwrap().pinned.is_empty());
}

#[test]
fn a_drained_cluster_takes_another_identity_once() {
    let mut map = cluster(3, 2);
    run(&mut map, crawl(1, false));
    run(&mut map, crawl(1, true));
    let migrate = Body::MigrateIdentity(migration(&map));
    assert!(run(&mut map, migrate.clone()).changed);
    assert_eq!(map.identity, NEXT);
    assert!(!run(&mut map, migrate).changed);
    refused(&map, joining(4, 0));
}
