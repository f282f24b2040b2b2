//! How many copies every page still has: what the URL records name, compared with the stores that are there. Copies are not
//! made anew after a lost disk, so somebody must say which pages have fewer.

use crate::cluster::{NodeClient, Walk};
use crate::output::{self, CommandError};
use client::Router;
use proto::frontier_v1 as pb;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use urlkey::CanonicalUrl;

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
    /// Pages with a copy in a store that could not be read; it counts as left.
    unread: u64,
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
        match self.unread {
            0 => self.counts(),
            pages => format!(
                "{}; {pages} have copies in stores that could not be read, which are taken for left",
                self.counts()
            ),
        }
    }

    fn counts(&self) -> String {
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

    fn add(&mut self, record: pb::UrlRecord, there: &BTreeSet<u32>, away: &BTreeSet<u32>) {
        let stores: BTreeSet<u32> = record.stores.iter().copied().collect();
        if record.digest.is_empty() || stores.is_empty() {
            return;
        }
        self.pages += 1;
        let (copies, away) = (stores.len(), stores.intersection(away).count());
        // A store that cannot be read now is not gone.
        let copies_left = stores.intersection(there).count() + away;
        self.unread += u64::from(away > 0);
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
    /// Known, and cannot be read now.
    away: BTreeSet<u32>,
    lost: BTreeSet<u32>,
}

impl Stores<'_> {
    /// Asks again when a record names a store that was not known at the start: it may have come since.
    async fn learn(&mut self, records: &[pb::UrlRecord]) -> Result<(), CommandError> {
        let named = records.iter().flat_map(|record| &record.stores).copied();
        let all = [&self.there, &self.away, &self.lost];
        let unknown = named.filter(|id| all.iter().all(|known| !known.contains(id)));
        let unknown: Vec<u32> = unknown.collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let nodes = nodes(self.router).await?;
        let now: BTreeSet<u32> = nodes.iter().map(|node| node.store_id).collect();
        let (there, lost): (Vec<u32>, Vec<u32>) =
            unknown.into_iter().partition(|id| now.contains(id));
        self.there.extend(there);
        self.lost.extend(lost);
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
        lost: BTreeSet::new(),
    };
    let mut copies = Copies::default();
    let mut walk = Walk::new(router, &clients);
    let mut given = Given::default();
    while let Some(urls) = walk.next().await? {
        let records = urls.into_iter().filter_map(|url| url.record);
        let is_page = |record: &pb::UrlRecord| {
            let is_stored = !record.digest.is_empty() && !record.stores.is_empty();
            is_stored && partition(router, record).is_none_or(|partition| given.is_new(partition))
        };
        let records: Vec<_> = records.filter(is_page).collect();
        stores.learn(&records).await?;
        for record in records {
            copies.add(record, &stores.there, &stores.away);
        }
    }
    Ok(copies)
}

fn partition(router: &Router, record: &pb::UrlRecord) -> Option<u64> {
    let url = CanonicalUrl::verify(&record.url, urlkey::limits::HARD_MAX_URL_BYTES);
    Some(router.partition_of_host(url.ok()?.host()))
}

/// Which records were gone through: a child of a split lists again what its parent listed before. Records of stored pages are listed
/// in the order of their partitions, and those of one partition always in the same order.
#[derive(Debug, Default)]
struct Given {
    /// The last partition hash that was new.
    partition: u64,
    /// Records of it.
    records: u64,
    /// The partition hash shown last, and how many of its records since it began to be shown.
    shown: (u64, u64),
}

impl Given {
    fn is_new(&mut self, partition: u64) -> bool {
        if self.shown.0 != partition {
            self.shown = (partition, 0);
        }
        self.shown.1 += 1;
        if partition > self.partition {
            (self.partition, self.records) = (partition, 0);
        }
        let is_new = partition == self.partition && self.shown.1 > self.records;
        self.records += u64::from(is_new);
        is_new
    }
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
        let (there, none) = (BTreeSet::from([1, 2, 9]), BTreeSet::new());
        let mut copies = Copies::default();
        copies.add(page("http://whole.example/", &[1, 2]), &there, &none);
        for number in 0..30 {
            copies.add(
                page(&format!("http://half.example/{number}"), &[2, 3]),
                &there,
                &none,
            );
        }
        copies.add(page("http://two.example/", &[1, 2, 3]), &there, &none);
        copies.add(page("http://lost.example/", &[3, 4]), &there, &none);
        // No page, or none that a store ever had.
        copies.add(page("http://robots.example/", &[]), &there, &none);
        let without_digest = pb::UrlRecord {
            digest: Vec::new().into(),
            ..page("http://redirect.example/", &[3])
        };
        copies.add(without_digest, &there, &none);
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
            &BTreeSet::new(),
        );
        assert_eq!((copies.below(), copies.without()), (0, 0));
        assert_eq!(copies.text(), "1 pages recorded: all have their copies");
    }

    #[test]
    fn a_store_that_cannot_be_read_is_not_gone() {
        let mut copies = Copies::default();
        let (there, away) = (BTreeSet::from([1]), BTreeSet::from([2, 3]));
        for stores in [[1, 2], [2, 3], [3, 4]] {
            copies.add(page("http://a.example/", &stores), &there, &away);
        }
        assert_eq!((copies.below(), copies.without(), copies.unread), (1, 0, 3));
        assert!(
            copies
                .text()
                .contains("3 have copies in stores that could not be read")
        );
    }

    #[test]
    fn what_a_parent_listed_is_not_counted_again_with_its_child() {
        let mut given = Given::default();
        let mut new = |partitions: &[u64]| -> Vec<bool> {
            partitions.iter().map(|p| given.is_new(*p)).collect()
        };
        assert_eq!(new(&[3, 3, 7, 7]), [true; 4]);
        // The child has what follows 4; two records of 7 were shown before.
        let expected = [false, false, false, true, true];
        assert_eq!(new(&[5, 7, 7, 7, 9]), expected);
        assert_eq!(new(&[9, 12]), [true, true]);
    }
}
