//! `duplicates`: payloads that are stored under several URLs, and hosts that mirror each other.
//!
//! All URLs of all shards are listed, twice, and a third time where hosts share payloads. Memory does not grow with the cluster:
//! two maps of bits (32 MiB) say which digests may repeat, of those at most 200 000 payloads with 16 URLs each are kept, and at most
//! 200 000 pairs of hosts. What did not fit is counted and said. The crawl may go on meanwhile: what changes between two slices may be
//! missed or counted twice.

use super::super::ask::{Asker, End};
use super::args::DuplicatesArgs;
use super::cluster::Cluster;
use super::groups::{Group, Groups};
use super::marks::Marks;
use super::mirrors::{Mirror, Pairs};
use super::{json, tables};
use client::Frontier;
use prost::bytes::Bytes;
use proto::frontier_v1 as pb;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Stored pages of the crawl.
    pub(super) pages: u64,
    /// Payloads under several URLs.
    pub(super) payloads: u64,
    /// URLs beyond the first of each.
    pub(super) copies: u64,
    /// Bytes that they would take if each were stored.
    pub(super) copied_bytes: u64,
    /// Pages and pairs of hosts that did not fit.
    pub(super) passed_over: u64,
    /// Those with most URLs.
    pub(super) groups: Vec<([u8; 32], Group)>,
    /// Those that share most.
    pub(super) mirrors: Vec<Mirror>,
}

/// Finds and shows.
pub(super) async fn run(
    asker: &Asker,
    cluster: &mut Cluster,
    args: &DuplicatesArgs,
) -> Result<(), End> {
    let (mut marks, mut pages) = (Marks::new(), 0);
    for_each_page(cluster, args.crawl, |page| {
        marks.mark(&page.digest);
        pages += 1;
    })
    .await?;
    let mut groups = Groups::default();
    for_each_page(cluster, args.crawl, |page| {
        if marks.may_repeat(&page.digest)
            && let Ok(digest) = <[u8; 32]>::try_from(page.digest.as_ref())
        {
            groups.add(digest, &page.url, page.payload_size_bytes);
        }
    })
    .await?;
    let mut found = Found {
        pages,
        passed_over: groups.passed_over,
        ..Found::default()
    };
    found.groups = groups.repeated();
    let mut pairs = Pairs::of(found.groups.iter().map(|(_, group)| group), args.least);
    found.passed_over += pairs.passed_over;
    if !pairs.is_empty() {
        for_each_page(cluster, args.crawl, |page| pairs.count_page(&page.url)).await?;
    }
    found.mirrors = pairs.mirrors();
    found.sum();
    found.groups.truncate(args.top.into());
    found.mirrors.truncate(args.top.into());
    asker.show(|| json::duplicates(&found), || tables::duplicates(&found))
}

impl Found {
    fn sum(&mut self) {
        self.payloads = self.groups.len() as u64;
        for (_, group) in &self.groups {
            self.copies += group.count - 1;
            self.copied_bytes += (group.count - 1) * group.size_bytes;
        }
    }
}

/// Every stored page of a crawl that has content, of all shards.
async fn for_each_page(
    cluster: &mut Cluster,
    crawl: u32,
    mut each: impl FnMut(&pb::UrlRecord),
) -> Result<(), End> {
    let visit = async |cluster: &mut Cluster, shard| {
        let mut cursor = Bytes::new();
        loop {
            let request = pb::ListUrlsRequest {
                shard,
                cursor: cursor.clone(),
            };
            let slice = cluster.call(async |f| f.list_urls(request.clone()).await);
            let slice = slice.await?;
            let records = slice.urls.iter().filter_map(|url| url.record.as_ref());
            let is_stored = |page: &&pb::UrlRecord| {
                page.crawl == crawl && !page.digest.is_empty() && page.payload_size_bytes > 0
            };
            records.filter(is_stored).for_each(&mut each);
            cursor = slice.cursor;
            if cursor.is_empty() {
                return Ok(());
            }
        }
    };
    cluster.each_shard(visit).await.map(|_| ())
}
