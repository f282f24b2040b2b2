//! How many copies every page still has: what the URL records name, compared with the stores that are there. Copies are not
//! made anew after a lost disk, so somebody must say which pages have fewer.

use crate::cluster::{NodeClient, listing};
use crate::output::{self, CommandError};
use client::Router;
use proto::frontier_v1 as pb;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Pages that are named.
const NAMED: usize = 20;
/// Time limit of one call that lists URLs, ms.
const LIST_TIMEOUT_MS: u64 = 10_000;

/// The pages of all URL records, counted by what is left of them.
#[derive(Debug, Default, Serialize)]
pub struct Copies {
    /// URLs whose record names a stored page.
    pages: u64,
    /// Pages that have fewer copies than they were stored with, by how many are left.
    fewer: BTreeMap<usize, u64>,
    /// Some of them, those without any copy first.
    named: Vec<Fewer>,
}

/// A page with fewer copies than it was stored with.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Fewer {
    copies_left: usize,
    copies: usize,
    url: String,
}

impl Copies {
    /// Pages of which no copy is left.
    pub fn without(&self) -> u64 {
        self.fewer.get(&0).copied().unwrap_or(0)
    }

    /// Pages with fewer copies than they were stored with, those without any included.
    pub fn below(&self) -> u64 {
        self.fewer.values().sum()
    }

    /// For people.
    pub fn print(&self) -> Result<(), CommandError> {
        for page in &self.named {
            output::line(format_args!(
                "{} has {} of {} copies left",
                page.url, page.copies_left, page.copies
            ))?;
        }
        if self.below() > self.named.len() as u64 {
            let more = self.below() - self.named.len() as u64;
            output::line(format_args!("and {more} pages more"))?;
        }
        output::line(self.text())
    }

    fn text(&self) -> String {
        if self.fewer.is_empty() {
            return format!("{} pages recorded: all have their copies", self.pages);
        }
        let of = |(left, pages): (&usize, &u64)| match left {
            0 => format!("{pages} have none"),
            1 => format!("{pages} have 1 copy left"),
            many => format!("{pages} have {many} copies left"),
        };
        let parts: Vec<String> = self.fewer.iter().rev().map(of).collect();
        format!(
            "{} pages recorded: {}; copies are not made anew by themselves",
            self.pages,
            parts.join(", ")
        )
    }

    fn add(&mut self, record: pb::UrlRecord, there: &BTreeSet<u32>) {
        let stores: BTreeSet<u32> = record.stores.iter().copied().collect();
        if record.digest.is_empty() || stores.is_empty() {
            return;
        }
        self.pages += 1;
        let (copies, copies_left) = (stores.len(), stores.intersection(there).count());
        if copies_left == copies {
            return;
        }
        *self.fewer.entry(copies_left).or_default() += 1;
        if self.named.len() < NAMED
            || self
                .named
                .last()
                .is_some_and(|l| l.copies_left > copies_left)
        {
            let url = record.url;
            let page = Fewer {
                copies_left,
                copies,
                url,
            };
            let at = self.named.partition_point(|named| *named < page);
            self.named.insert(at, page);
            self.named.truncate(NAMED);
        }
    }
}

/// The stores that pages may be in.
struct Stores<'a> {
    router: &'a Router,
    there: BTreeSet<u32>,
    away: BTreeSet<u32>,
}

impl Stores<'_> {
    /// Asks again when a record names a store that was not known at the start: it may have come since.
    async fn learn(&mut self, records: &[pb::UrlRecord]) -> Result<(), CommandError> {
        let named = records.iter().flat_map(|record| &record.stores).copied();
        let unknown = named.filter(|id| !self.there.contains(id) && !self.away.contains(id));
        let unknown: Vec<u32> = unknown.collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let nodes = nodes(self.router).await?;
        let now: BTreeSet<u32> = nodes.iter().map(|node| node.store_id).collect();
        let (there, away): (Vec<u32>, Vec<u32>) =
            unknown.into_iter().partition(|id| now.contains(id));
        self.there.extend(there);
        self.away.extend(away);
        Ok(())
    }
}

/// Goes through the records of all shards, each as the replica lists them that has applied most. `there` are the stores that
/// can be read, `away` those that are known and cannot; a store that is neither is lost.
pub async fn count(
    router: &Router,
    there: BTreeSet<u32>,
    away: BTreeSet<u32>,
) -> Result<Copies, CommandError> {
    let mut clients: BTreeMap<u32, NodeClient> = BTreeMap::new();
    for node in nodes(router).await? {
        let client = NodeClient::new(&node.address)
            .map_err(|e| CommandError::of("an address of a node", e))?;
        clients.insert(node.node, client.with_timeout_ms(LIST_TIMEOUT_MS));
    }
    let mut stores = Stores {
        router,
        there,
        away,
    };
    let mut copies = Copies::default();
    for shard in router.shards() {
        let mut listing = listing::of_shard(&clients, shard.shard).await?;
        while let Some(urls) = listing.next().await? {
            let records: Vec<_> = urls.into_iter().filter_map(|url| url.record).collect();
            stores.learn(&records).await?;
            for record in records {
                copies.add(record, &stores.there);
            }
        }
    }
    Ok(copies)
}

async fn nodes(router: &Router) -> Result<Vec<pb::Node>, CommandError> {
    let nodes = router.nodes().await;
    nodes
        .map(|nodes| nodes.nodes)
        .map_err(|e| CommandError::of("cannot list the cluster's nodes", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, stores: &[u32]) -> pb::UrlRecord {
        pb::UrlRecord {
            url: url.to_owned(),
            digest: vec![7; 32].into(),
            stores: stores.to_vec(),
            ..pb::UrlRecord::default()
        }
    }

    #[test]
    fn pages_are_counted_by_what_is_left_and_the_worst_are_named() {
        let there = BTreeSet::from([1, 2, 9]);
        let mut copies = Copies::default();
        copies.add(page("http://whole.example/", &[1, 2]), &there);
        for number in 0..30 {
            copies.add(
                page(&format!("http://half.example/{number}"), &[2, 3]),
                &there,
            );
        }
        copies.add(page("http://two.example/", &[1, 2, 3]), &there);
        copies.add(page("http://lost.example/", &[3, 4]), &there);
        // No page, or none that a store ever had.
        copies.add(page("http://robots.example/", &[]), &there);
        let without_digest = pb::UrlRecord {
            digest: Vec::new().into(),
            ..page("http://redirect.example/", &[3])
        };
        copies.add(without_digest, &there);
        assert_eq!(
            (copies.pages, copies.below(), copies.without()),
            (33, 32, 1)
        );
        assert_eq!(copies.named.len(), NAMED);
        assert_eq!(copies.named[0].url, "http://lost.example/");
        assert_eq!(
            (copies.named[0].copies_left, copies.named[0].copies),
            (0, 2)
        );
        assert!(
            copies.text().starts_with(
                "33 pages recorded: 1 have 2 copies left, 30 have 1 copy left, 1 have none;"
            ),
            "{}",
            copies.text()
        );
    }

    #[test]
    fn with_all_copies_nothing_is_missed() {
        let mut copies = Copies::default();
        copies.add(
            page("http://a.example/", &[1, 2]),
            &BTreeSet::from([1, 2, 3]),
        );
        assert_eq!((copies.below(), copies.without()), (0, 0));
        assert_eq!(copies.text(), "1 pages recorded: all have their copies");
    }
}
