//! A split costs what hosts in memory cost: it reads no row and writes only those keyed by the shards' numbers.

use super::{Split, SplitReply};
use crate::{
    Body, Command, CommandReply, Entry,
    command::set_policy::CrawlPolicy,
    testing::{CRAWL, Shard, item, link},
};

/// Row reads (gets, scans, scanned rows) and row writes of a split in the middle.
fn cost(hosts: usize, urls: usize) -> ((u64, u64, u64), usize) {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: 2,
        ..CrawlPolicy::default()
    });
    let all: Vec<_> = (0..hosts * urls)
        .map(|n| format!("http://w.s{}.example/{}", n % hosts, n / hosts))
        .collect();
    for chunk in all.chunks(1_000) {
        let items = chunk.iter().map(|url| item(link(CRAWL, url, 100)));
        shard.items(items.collect());
    }
    shard.lease(64);
    shard.rows.take_reads();
    let split = Split {
        child: 2,
        at: 1 << 63,
        epoch: 0,
    };
    let entry = Entry {
        now_ms: shard.now_ms,
        wall_unix_ms: shard.wall_ms,
        commands: vec![Command {
            body: Some(Body::Split(split)),
        }],
    };
    let reply = shard.m.apply(&shard.rows, &entry, &mut shard.overlay);
    let replies = reply.map(|reply| reply.replies);
    assert!(matches!(
        replies.as_deref(),
        Ok([CommandReply::Split(SplitReply::Done(_))])
    ));
    let cost = (shard.rows.take_reads(), shard.overlay.len());
    shard.rows.commit(&mut shard.overlay);
    let mut child = shard.child();
    let shared = [&shard, &child].map(|shard| shard.m.status().active_hosts);
    assert!(shared.iter().all(|count| *count > hosts as u64 / 4));
    assert_eq!(shared.iter().sum::<u64>(), hosts as u64);
    child.rebuild();
    shard.rebuild();
    cost
}

#[test]
fn a_split_reads_no_row_however_many_there_are() {
    // Two `meta` and the child's two `crawl` rows.
    let expected = ((0, 0, 0), 4);
    assert_eq!(cost(40, 1), expected);
    assert_eq!(cost(40, 1_000), expected);
    assert_eq!(cost(10_000, 2), expected);
}
