//! Cost follows the batch, never the shard: row reads of every step are the same in a shard a hundred times as large.
#![allow(clippy::unwrap_used)]

use crate::{
    Machine, ShardId,
    command::{
        discover::Item,
        report::{ReportResult, RobotsCode},
    },
    testing::*,
};

/// Reads of: 50 new links, 50 known ones, 20 leases, their reports, 20 page leases, their reports.
fn reads(hosts: usize) -> Vec<(u64, u64, u64)> {
    let mut shard = Shard::new();
    for chunk in (0..hosts).collect::<Vec<_>>().chunks(500) {
        let items = chunk
            .iter()
            .map(|n| {
                item(link(
                    CRAWL,
                    &format!("http://h{n}.example{n}.org/"),
                    (n % 256) as u32,
                ))
            })
            .collect();
        shard.items(items);
    }
    let links = || -> Vec<Item> {
        (0..50)
            .map(|n| item(link(CRAWL, &format!("http://new{n}.example{n}.org/"), 5)))
            .collect()
    };
    let mut costs = Vec::new();
    shard.rows.take_reads();
    shard.items(links());
    costs.push(shard.rows.take_reads());
    shard.items(links());
    costs.push(shard.rows.take_reads());
    let robots = shard.lease(20);
    assert_eq!(robots.len(), 20);
    costs.push(shard.rows.take_reads());
    let reports = robots
        .iter()
        .map(|lease| robots_report(lease, answered(0), found(RobotsCode::AllowAll)))
        .collect();
    assert!(
        shard
            .report(reports)
            .iter()
            .all(|result| *result == ReportResult::Closed)
    );
    costs.push(shard.rows.take_reads());
    shard.pass(1_000);
    let pages: Vec<_> = shard.lease(20);
    costs.push(shard.rows.take_reads());
    let reports = pages
        .iter()
        .filter(|lease| lease.key.kind == 1)
        .map(|lease| page_report(lease, answered(0), stored(1)))
        .collect();
    shard.report(reports);
    costs.push(shard.rows.take_reads());
    costs
}

// case J8: what a step reads follows from what it grants.
#[test]
fn reads_do_not_grow_with_hosts() {
    assert_eq!(reads(200), reads(20_000));
}

#[test]
fn a_page_costs_one_scan_to_lease_and_one_get_to_report() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1", "http://a.example/2"]);
    shard.rows.take_reads();
    let (lease, _) = shard.lease_page();
    assert_eq!(shard.rows.take_reads(), (0, 1, 2));
    shard.close(&lease, answered(0), stored(1));
    assert_eq!(shard.rows.take_reads(), (1, 0, 0));
}

// case J5: a restart reads hosts and leases, not URLs.
#[test]
fn a_rebuild_reads_no_urls() {
    let mut shard = Shard::new();
    for n in 0..2_000 {
        shard.offer(link(CRAWL, &format!("http://a.example/{n}"), 5));
    }
    shard.rows.take_reads();
    Machine::rebuild(&shard.rows, ShardId(1)).unwrap().unwrap();
    let (_, _, scanned) = shard.rows.take_reads();
    assert!(scanned <= 3, "{scanned}");
}

#[test]
fn one_host_row_is_written_an_entry() {
    let mut shard = Shard::new();
    let items = (0..100)
        .map(|n| item(link(CRAWL, &format!("http://a.example/{n}"), 5)))
        .collect();
    let command = crate::Command {
        body: Some(crate::Body::Discover(crate::command::discover::Discover {
            items,
        })),
    };
    let entry = crate::Entry {
        now_ms: shard.now_ms,
        wall_unix_ms: shard.wall_ms,
        commands: vec![command],
    };
    shard
        .m
        .apply(&shard.rows, &entry, &mut shard.overlay)
        .unwrap();
    // 100 queue rows, 100 seen rows, host, meta.
    assert_eq!(shard.overlay.len(), 202);
}
