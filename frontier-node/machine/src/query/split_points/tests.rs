//! Middles and isolations of small shards, counted by hand.

use crate::{command::split::SplitReply, testing::*};

/// Hosts of sites with so many URLs each, in the order of their hashes.
fn shard(counts: &[usize]) -> (Shard, Vec<u64>) {
    let mut shard = Shard::new();
    let mut sites: Vec<(u64, String)> = (0..counts.len())
        .map(|n| format!("http://w.s{n}.example/"))
        .map(|url| (partition_of(&url), url))
        .collect();
    sites.sort();
    for ((site, url), count) in sites.iter().zip(counts) {
        for n in 0..*count {
            let link = crate::command::discover::Link {
                partition: *site,
                ..link(CRAWL, &format!("{url}{n}"), 100)
            };
            shard.offer(link);
        }
    }
    (shard, sites.into_iter().map(|(site, _)| site).collect())
}

fn partition_of(url: &str) -> u64 {
    crate::hash::bytes(3, url.as_bytes())
}

#[test]
fn the_middle_is_between_sites_where_both_sides_have_about_as_much() {
    let (shard, sites) = shard(&[5, 1, 3, 2, 3]);
    let point = shard.m.middle_of_load().unwrap();
    assert_eq!(point.at, sites[2]);
    assert_eq!((point.parent.measure(), point.child.measure()), (6, 8));
    assert_eq!((point.parent.hosts, point.child.hosts), (2, 3));
}

#[test]
fn leases_count_and_a_split_there_gives_what_was_said() {
    let (mut shard, sites) = shard(&[2, 2]);
    assert_eq!(shard.lease(1).len(), 1);
    let point = shard.m.middle_of_load().unwrap();
    assert_eq!(point.at, sites[1]);
    assert_eq!(point.parent.leased + point.child.leased, 1);
    assert!(matches!(shard.split(2, point.at, 0), SplitReply::Done(_)));
    let child = shard.child();
    for (shard, load) in [(&shard, point.parent), (&child, point.child)] {
        let status = shard.m.status();
        assert_eq!(status.terms.queued, load.queued);
        assert_eq!(status.ready.leased, load.leased);
        assert_eq!(status.active_hosts, load.hosts);
        // One site each: no middle any more.
        assert_eq!(shard.m.middle_of_load(), None);
    }
}

#[test]
fn hosts_decide_where_nothing_is_queued() {
    use crate::command::remove::{CrawlTarget, Target};
    let (mut shard, sites) = shard(&[1, 1, 1, 1]);
    shard.remove(Target::Crawl(CrawlTarget {}), false, Vec::new());
    // Nobody was contacted: the hosts go with the next entry.
    let point = shard.m.middle_of_load().unwrap();
    assert_eq!((point.parent.measure(), point.child.measure()), (0, 0));
    assert_eq!(point.at, sites[2]);
}

#[test]
fn a_site_is_isolated_by_two_points_and_at_an_end_by_one() {
    let (mut shard, sites) = shard(&[1, 9, 1]);
    let (heavy, load) = shard.m.heaviest_site().unwrap();
    assert_eq!((heavy, load.queued, load.hosts), (sites[1], 9, 1));
    assert_eq!(shard.m.points_around(sites[0]), [sites[0] + 1]);
    assert_eq!(shard.m.points_around(sites[2]), [sites[2]]);
    assert!(shard.m.points_around(sites[1] + 1).is_empty());
    let points = shard.m.points_around(heavy);
    assert_eq!(points, [heavy + 1, heavy]);
    shard.split(2, points[0], 0);
    assert_eq!(shard.child().m.status().terms.queued, 1);
    shard.split(3, points[1], 1);
    let mut alone = shard.child();
    assert_eq!(alone.m.range(), (heavy, heavy));
    assert_eq!(alone.m.status().terms.queued, 9);
    assert!(alone.m.points_around(heavy).is_empty());
    assert_eq!(shard.m.status().terms.queued, 1);
    alone.rebuild();
    shard.rebuild();
}

#[test]
fn an_empty_shard_has_no_points() {
    let shard = Shard::new();
    assert_eq!(shard.m.middle_of_load(), None);
    assert_eq!(shard.m.heaviest_site(), None);
    assert!(shard.m.points_around(7).is_empty());
}
