//! The URLs of a shard with their records, read from one of its replicas.

use super::limits::LISTED_URLS;
use super::{Control, NodeClient, Walk, all_statuses};
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;
use std::collections::{BTreeMap, BTreeSet};

/// A URL as a replica lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Canonical URL.
    pub url: String,
    /// A page, a robots file or an errand.
    pub kind: pb::lease_key::Kind,
    /// What is known of it.
    pub record: pb::UrlRecord,
}

/// The URLs of one shard, slice by slice.
pub struct Listing<'a> {
    node: &'a NodeClient,
    shard: u64,
    cursor: prost::bytes::Bytes,
    is_over: bool,
}

/// Lists a shard from the replica that has applied most, of those that answer.
pub async fn of_shard(
    nodes: &BTreeMap<u32, NodeClient>,
    shard: u64,
) -> Result<Listing<'_>, CommandError> {
    let statuses = all_statuses(nodes, shard).await;
    let best = statuses.into_iter().max_by_key(|(_, s)| s.applied_index);
    let node = best
        .and_then(|(node, _)| nodes.get(&node))
        .ok_or_else(|| CommandError::Message(format!("no node tells the URLs of shard {shard}")))?;
    Ok(Listing {
        node,
        shard,
        cursor: prost::bytes::Bytes::new(),
        is_over: false,
    })
}

impl Listing<'_> {
    /// The next slice; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<pb::ListedUrl>>, CommandError> {
        if self.is_over {
            return Ok(None);
        }
        let request = pb::ListUrlsRequest {
            shard: self.shard,
            cursor: self.cursor.clone(),
        };
        let slice = self.node.list_urls(request).await.map_err(|e| {
            CommandError::of(&format!("cannot list the URLs of shard {}", self.shard), e)
        })?;
        self.cursor = slice.cursor;
        self.is_over = self.cursor.is_empty();
        Ok(Some(slice.urls))
    }
}

impl Control {
    /// All URLs of all shards. Each shard is read from the replica that has applied most, so the crawl should be idle.
    pub async fn list_urls(&self) -> Result<Vec<Listed>, CommandError> {
        let mut walk = Walk::new(self.router(), self.nodes());
        let (mut urls, mut pages) = (Vec::new(), BTreeSet::new());
        while let Some(slice) = walk.next().await? {
            let mut is_new = |url: &Listed| {
                url.kind != pb::lease_key::Kind::Page || pages.insert(url.url.clone())
            };
            urls.extend(slice.into_iter().filter_map(listed).filter(&mut is_new));
            if urls.len() > LISTED_URLS {
                return Err(CommandError::Message(format!(
                    "more than {LISTED_URLS} URLs: too many to judge"
                )));
            }
        }
        Ok(urls)
    }
}

fn listed(url: pb::ListedUrl) -> Option<Listed> {
    let kind = url.kind();
    let record = url.record?;
    let url = record.url.clone();
    Some(Listed { url, kind, record })
}
