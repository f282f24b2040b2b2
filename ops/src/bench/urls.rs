//! The hosts of a bench, and streams of URLs on them.

use super::rng::{mix, share};
use frontier_node::{ShardRange, equal_ranges};
use proto::frontier_v1 as pb;
use urlkey::{SuffixList, partition_hash};

/// The crawl of every bench.
pub const CRAWL: u32 = 1;

/// How hosts and URLs are spread.
#[derive(Debug, Clone, Copy, clap::Args, serde::Serialize)]
pub struct Spread {
    /// Hosts.
    #[arg(long, default_value_t = 20_000, value_parser = crate::numbers::positive::<u32>)]
    pub hosts: u32,
    /// Sites (registrable domains), each with an equal share of the hosts.
    #[arg(long, default_value_t = 10_000, value_parser = crate::numbers::positive::<u32>)]
    pub sites: u32,
    /// Unevenness: a URL's host is number hosts x u^(1 + skew) for an even u; 0 = even.
    #[arg(long, default_value_t = 1.0)]
    pub skew: f64,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    /// Its name.
    pub name: Box<str>,
    /// Partition hash of its site.
    pub partition: u64,
}

/// Hosts, by the shard that owns them.
#[derive(Debug)]
pub struct Hosts {
    /// The shards.
    pub ranges: Vec<ShardRange>,
    /// The hosts of each, in the order of `ranges`.
    pub by_shard: Vec<Vec<Host>>,
}

impl Hosts {
    /// Makes them: `www7.site3.example` and so on.
    pub fn new(hosts: u32, sites: u32, shards: u64) -> Self {
        let suffixes = SuffixList::shipped();
        let ranges = equal_ranges(shards);
        let mut by_shard = vec![Vec::new(); ranges.len()];
        for number in 0..hosts {
            let name =
                format!("www{number}.site{}.example", number % sites.max(1)).into_boxed_str();
            let partition = partition_hash(&suffixes.site(&name)).0;
            let owner = ranges.partition_point(|range| range.last < partition);
            if let Some(owned) = by_shard.get_mut(owner) {
                owned.push(Host { name, partition });
            }
        }
        Self { ranges, by_shard }
    }

    /// The stream of that number. Streams take turns over the shards that own hosts.
    pub fn stream(&self, number: usize, skew: f64) -> Option<Stream<'_>> {
        let owned: Vec<_> = self
            .ranges
            .iter()
            .zip(&self.by_shard)
            .filter(|(_, hosts)| !hosts.is_empty())
            .collect();
        let (range, hosts) = owned.get(number % owned.len().max(1))?;
        Some(Stream {
            shard: range.shard,
            hosts,
            number,
            skew,
        })
    }
}

/// An endless stream of distinct URLs, all of one shard.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'a> {
    /// The shard.
    pub shard: u64,
    hosts: &'a [Host],
    number: usize,
    skew: f64,
}

impl Stream<'_> {
    /// The stream's URL of that number, as a link.
    pub fn link(&self, index: u64) -> pb::Link {
        let even = share(mix(mix(self.number as u64) ^ index));
        let place = (self.hosts.len() as f64 * even.powf(1.0 + self.skew)) as usize;
        let host = &self.hosts[place.min(self.hosts.len() - 1)];
        pb::Link {
            crawl: CRAWL,
            url: format!(
                "http://{}/section-{:02}/page-{:02}-{index:08}.html",
                host.name,
                index % 37,
                self.number
            ),
            partition: host.partition,
            priority: 128,
            depth: 1,
            ..pb::Link::default()
        }
    }

    /// Items of a batch.
    pub fn items(&self, indexes: impl Iterator<Item = u64>) -> Vec<pb::DiscoverItem> {
        let item = |index| pb::DiscoverItem {
            item: Some(pb::discover_item::Item::Link(self.link(index))),
        };
        indexes.map(item).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use urlkey::CanonicalUrl;

    #[test]
    fn streams_are_canonical_distinct_and_of_their_shard() {
        let hosts = Hosts::new(300, 100, 3);
        assert_eq!(hosts.by_shard.iter().map(Vec::len).sum::<usize>(), 300);
        let mut seen = BTreeSet::new();
        for number in 0..6 {
            let stream = hosts.stream(number, 1.0).unwrap();
            let range = hosts
                .ranges
                .iter()
                .find(|range| range.shard == stream.shard)
                .unwrap();
            for index in 0..200 {
                let link = stream.link(index);
                assert!((range.first..=range.last).contains(&link.partition));
                let url = CanonicalUrl::verify(&link.url, 2_048).unwrap();
                assert_eq!(
                    partition_hash(&SuffixList::shipped().site(url.host())).0,
                    link.partition
                );
                assert!(seen.insert(link.url));
            }
        }
    }
}
