//! Ad hoc figures, printed: run with `cargo test -p machine -- --ignored --nocapture figures`. They judge nothing but memory.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

use crate::{
    Body, Command, Entry, Machine, ShardId,
    command::{
        discover::Discover,
        lease::{Lease, LeaseCall, LeaseReply, Work},
        report::{Report, ReportBatch, RobotsCode},
        set_policy::CrawlPolicy,
    },
    entry::CommandReply,
    testing::*,
};
use std::time::Instant;

/// Resident memory of the process.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

fn entry(shard: &Shard, body: Body) -> Entry {
    Entry {
        now_ms: shard.now_ms,
        wall_unix_ms: shard.wall_ms,
        commands: vec![Command { body: Some(body) }],
    }
}

fn apply(shard: &mut Shard, entry: &Entry) -> CommandReply {
    let mut reply = shard
        .m
        .apply(&shard.rows, entry, &mut shard.overlay)
        .unwrap();
    shard.rows.commit(&mut shard.overlay);
    reply.replies.pop().unwrap()
}

fn links(from: usize, count: usize, hosts: usize) -> Body {
    let url = |n: usize| {
        format!(
            "http://www.site{:07}.example/path/{}/page.html",
            n % hosts,
            n / hosts
        )
    };
    Body::Discover(Discover {
        items: (from..from + count)
            .map(|n| item(link(CRAWL, &url(n), (n % 256) as u32)))
            .collect(),
    })
}

fn report(lease: &Lease) -> Report {
    match lease.work {
        Work::Robots(_) => robots_report(lease, answered(1), found(RobotsCode::AllowAll)),
        _ => page_report(lease, answered(1), stored(1)),
    }
}

/// Leases and reports everything once; (pairs, seconds in apply).
fn round(shard: &mut Shard, number: &mut u64) -> (usize, f64) {
    let (mut pairs, mut seconds) = (0, 0.0);
    loop {
        *number += 1;
        let call = entry(
            shard,
            Body::Lease(LeaseCall {
                session: vec![1; 16],
                number: *number,
                max_leases: 64,
                ttl_ms: 60_000,
            }),
        );
        let start = Instant::now();
        let reply = apply(shard, &call);
        seconds += start.elapsed().as_secs_f64();
        let CommandReply::Lease(LeaseReply::Granted { leases, .. }) = reply else {
            return (pairs, seconds);
        };
        if leases.is_empty() {
            return (pairs, seconds);
        }
        let batch = entry(
            shard,
            Body::Report(ReportBatch {
                items: leases.iter().map(report).collect(),
            }),
        );
        let start = Instant::now();
        apply(shard, &batch);
        seconds += start.elapsed().as_secs_f64();
        pairs += leases.len();
        if pairs >= 200_000 {
            return (pairs, seconds);
        }
    }
}

#[test]
#[ignore = "prints figures; takes minutes and gigabytes"]
fn figures() {
    const HOSTS: usize = 1_000_000;
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: 1,
        ..CrawlPolicy::default()
    });
    let mut seconds = 0.0;
    for from in (0..HOSTS + HOSTS / 4).step_by(256) {
        let batch = entry(&shard, links(from, 256, HOSTS));
        let start = Instant::now();
        apply(&mut shard, &batch);
        seconds += start.elapsed().as_secs_f64();
    }
    let accepted = shard.m.status().terms.accepted;
    println!(
        "discover: {:.0} new URLs/s ({accepted} URLs, {HOSTS} hosts, batches of 256)",
        accepted as f64 / seconds
    );
    let mut number = 0;
    let (pairs, seconds) = round(&mut shard, &mut number);
    println!(
        "robots lease + report: {:.0} pairs/s ({pairs})",
        pairs as f64 / seconds
    );
    shard.pass(10_000);
    let (pairs, seconds) = round(&mut shard, &mut number);
    println!(
        "lease + report: {:.0} pairs/s ({pairs}, batches of 64)",
        pairs as f64 / seconds
    );
    shard.rows.take_reads();
    let before = resident_bytes();
    let start = Instant::now();
    let rebuilt = Machine::rebuild(&shard.rows, ShardId(1)).unwrap().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let each = (resident_bytes() - before) / HOSTS as u64;
    println!(
        "rebuild: {seconds:.2} s, {each} bytes of memory a host, estimate {}",
        rebuilt.memory_estimate_bytes() / HOSTS as u64
    );
    println!(
        "size of a host: {} + lane {} + authority {}",
        size_of::<crate::state::Host>(),
        size_of::<crate::state::Lane>(),
        size_of::<crate::state::HostAuthority>()
    );
    assert!(each <= 400, "{each} bytes a host");
}
