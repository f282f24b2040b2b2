//! Two shards become three, and nothing of any URL or host is lost.

use super::*;
use crate::{
    ConservationTerms, UrlRecord, UrlState,
    command::{
        report::{PageCode, Report},
        set_policy::CrawlPolicy,
    },
    limits,
    testing::*,
};

const REACH_MS: u64 = limits::LEASE_TTL_MS.1;
/// Hosts of the crawl.
const HOSTS: usize = 40;

fn host(n: usize) -> String {
    format!("http://w.s{n}.example/")
}

/// A crawl half done: of each host one page is done or visited again, some are leased, back off, or have links in the outbox.
fn half_done(shard: &mut Shard) {
    shard.crawl(CrawlPolicy {
        crawl: 2,
        revisit: true,
        ..CrawlPolicy::default()
    });
    for n in 0..HOSTS {
        let crawl = 1 + n as u32 % 2;
        for page in 0..3 {
            shard.offer(link(crawl, &format!("{}{page}", host(n)), 0));
        }
    }
    for lease in shard.lease(256) {
        shard.close_robots(&lease, answered(0), rules("User-agent: *\nDisallow: /x", 0));
    }
    shard.pass(1_000);
    for (n, lease) in shard.lease(256).into_iter().enumerate() {
        match n % 4 {
            0 => shard.close(&lease, answered(10), stored(n as u8)),
            1 => {
                let mut busy = answered(10);
                busy.retry_after_ms = 500_000;
                shard.close(&lease, busy, outcome(PageCode::HttpBusy))
            }
            2 => {
                let foreign = item(link(1, &format!("http://far{n}.example/"), 0));
                let report = Report {
                    undelivered: vec![foreign],
                    ..page_report(&lease, answered(10), stored(n as u8))
                };
                shard.report(vec![report]).pop().unwrap()
            }
            _ => continue,
        };
    }
}

/// The crawl in two shards, the second of which is some seconds ahead.
fn two_shards() -> Vec<Shard> {
    let mut low = Shard::new();
    half_done(&mut low);
    low.split(2, 1 << 63, 0);
    let mut high = low.child();
    high.pass(4_000);
    high.tick();
    vec![low, high]
}

fn cuts(shards: &[Shard]) -> Vec<Source> {
    let cuts = shards.iter().map(|shard| cut(&shard.rows, shard.m.shard()));
    cuts.collect()
}

fn three_targets() -> Vec<Shard> {
    let bounds = [0, 1 << 62, (1 << 63) + (1 << 61)];
    let ends = [(1 << 62) - 1, (1 << 63) + (1 << 61) - 1, u64::MAX];
    let ranges = bounds.into_iter().zip(ends);
    let shards = (11..).zip(ranges);
    shards
        .map(|(shard, (first, last))| empty(shard, first, last))
        .collect()
}

fn summed(shards: &[Shard]) -> ConservationTerms {
    let mut sum = ConservationTerms::default();
    for terms in shards.iter().map(|shard| shard.m.status().terms) {
        sum.accepted += terms.accepted;
        sum.queued += terms.queued;
        sum.scheduled += terms.scheduled;
        sum.leased += terms.leased;
        sum.done += terms.done;
        sum.removed += terms.removed;
        sum.refused += terms.refused;
    }
    sum
}

fn records(shards: &[Shard]) -> Vec<Option<UrlRecord>> {
    let urls = (0..HOSTS).flat_map(|n| (0..3).map(move |page| (n, page)));
    let record = |(n, page): (usize, usize)| {
        let url = format!("{}{page}", host(n));
        let owner = shards.iter().find(|shard| shard.m.holds(partition(&url)));
        let key = (partition(&url), fingerprint(1 + n as u32 % 2, &url));
        let owner = owner.unwrap();
        owner.m.url_record(&owner.rows, key.0, key.1).unwrap()
    };
    urls.map(record).collect()
}

#[test]
fn three_shards_know_what_two_knew() {
    let sources = two_shards();
    let mut targets = three_targets();
    for target in &mut targets {
        restore(target, &cuts(&sources));
    }
    let (before, after) = (summed(&sources), summed(&targets));
    assert!(before.leased > 0 && before.done > 0 && before.scheduled > 0);
    assert_eq!(after.leased, 0);
    assert_eq!(after.queued, before.queued + before.leased);
    assert_eq!(
        (after.accepted, after.scheduled, after.done),
        (before.accepted, before.scheduled, before.done)
    );
    let waiting = |shards: &[Shard]| -> u64 {
        let rows = shards.iter().map(|shard| shard.m.status().outbox.waiting);
        rows.sum()
    };
    assert!(waiting(&sources) > 0);
    assert_eq!(waiting(&targets), waiting(&sources));
    for (old, new) in records(&sources).into_iter().zip(records(&targets)) {
        let (old, new) = (old.unwrap(), new.unwrap());
        if old.state == UrlState::Leased {
            assert_eq!((new.state, new.attempts), (UrlState::Queued, 1));
        } else {
            assert_eq!(new, old);
        }
    }
}

// P1: whoever holds a lease of the lost cluster may use it for as long as any lease lasts.
#[test]
fn no_host_is_leased_before_every_lost_lease_is_over() {
    let sources = two_shards();
    for mut target in three_targets() {
        restore(&mut target, &cuts(&sources));
        let recovered_ms = target.m.now_ms();
        target.now_ms = recovered_ms + REACH_MS + 999;
        target.tick();
        assert!(target.lease(256).is_empty());
        target.now_ms += 1;
        let leases = target.lease(256);
        assert!(!leases.is_empty());
        assert!(leases.iter().all(|lease| lease.token > u64::from(u32::MAX)));
        check(&mut target);
    }
}

#[test]
fn a_back_off_has_the_rest_to_run_that_it_had() {
    let sources = two_shards();
    let mut targets = three_targets();
    let mut seen = 0;
    for target in &mut targets {
        restore(target, &cuts(&sources));
        for n in 0..HOSTS {
            let url = host(n);
            if !target.m.holds(partition(&url)) {
                continue;
            }
            let source = sources.iter().find(|shard| shard.m.holds(partition(&url)));
            let source = source.unwrap();
            let rest = |shard: &Shard, at_ms: u64| {
                shard.host(&url).back_off_until_ms.saturating_sub(at_ms)
            };
            let begun_ms = target.m.meta.restore.unwrap().now_ms;
            let old = rest(source, source.m.now_ms());
            assert_eq!(rest(target, begun_ms), old, "{url}");
            seen += u64::from(old > 0);
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_restored_shard_splits_and_goes_on() {
    let sources = two_shards();
    let mut target = empty(11, 0, u64::MAX);
    restore(&mut target, &cuts(&sources));
    target.split(12, 1 << 63, 0);
    let mut child = target.child();
    check(&mut child);
    child.now_ms = target.m.now_ms() + REACH_MS + 1_000;
    assert!(!child.lease(9).is_empty());
}
