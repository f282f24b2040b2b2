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

/// CPU time of this thread: other processes of a busy machine do not count.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// CPU seconds in `apply`, and in committing to the rows below.
#[derive(Default)]
struct Spent {
    apply: f64,
    commit: f64,
}

impl Spent {
    fn print(&self, what: &str, count: u64) {
        let (alone, both) = (
            count as f64 / self.apply,
            count as f64 / (self.apply + self.commit),
        );
        println!(
            "{what}: {alone:.0}/s of CPU in apply, {both:.0}/s with the rows' commit ({count})"
        );
    }
}

fn apply(shard: &mut Shard, entry: &Entry, spent: &mut Spent) -> CommandReply {
    let start = cpu_seconds();
    let mut reply = shard
        .m
        .apply(&shard.rows, entry, &mut shard.overlay)
        .unwrap();
    let applied = cpu_seconds();
    shard.rows.commit(&mut shard.overlay);
    spent.apply += applied - start;
    spent.commit += cpu_seconds() - applied;
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

/// Leases and reports up to 200 000; how many.
fn round(shard: &mut Shard, number: &mut u64, spent: &mut Spent) -> u64 {
    let mut pairs = 0;
    while pairs < 200_000 {
        *number += 1;
        let call = LeaseCall {
            session: vec![1; 16],
            number: *number,
            max_leases: 64,
            ttl_ms: 60_000,
        };
        let call = entry(shard, Body::Lease(call));
        let CommandReply::Lease(LeaseReply::Granted { leases, .. }) = apply(shard, &call, spent)
        else {
            break;
        };
        if leases.is_empty() {
            break;
        }
        let items = leases.iter().map(report).collect();
        let batch = entry(shard, Body::Report(ReportBatch { items }));
        apply(shard, &batch, spent);
        pairs += leases.len() as u64;
    }
    pairs
}

#[test]
#[ignore = "prints figures; takes minutes and gigabytes"]
fn figures() {
    for hosts in [10_000, 1_000_000] {
        println!("-- {hosts} hosts");
        figures_of(hosts);
    }
}

fn figures_of(hosts: usize) {
    let mut shard = Shard::new();
    shard.crawl(CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: 1,
        ..CrawlPolicy::default()
    });
    let mut spent = Spent::default();
    for from in (0..hosts + hosts / 4).step_by(256) {
        let batch = entry(&shard, links(from, 256, hosts));
        apply(&mut shard, &batch, &mut spent);
    }
    spent.print("new URLs, batches of 256", shard.m.status().terms.accepted);
    let (mut number, mut spent) = (0, Spent::default());
    let pairs = round(&mut shard, &mut number, &mut spent);
    spent.print("robots lease + report, batches of 64", pairs);
    shard.pass(10_000);
    let mut spent = Spent::default();
    let pairs = round(&mut shard, &mut number, &mut spent);
    spent.print("lease + report, batches of 64", pairs);
    let (before, start) = (resident_bytes(), cpu_seconds());
    let rebuilt = Machine::rebuild(&shard.rows, ShardId(1)).unwrap().unwrap();
    let seconds = cpu_seconds() - start;
    let each = resident_bytes().saturating_sub(before) / hosts as u64;
    let estimate = rebuilt.memory_estimate_bytes() / hosts as u64;
    println!("rebuild: {seconds:.2} s, {each} bytes of memory a host, estimate {estimate}");
    assert!(each <= 400, "{each} bytes a host");
}
