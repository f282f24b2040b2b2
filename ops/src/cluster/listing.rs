//! Every URL of a cluster with its record, read from one replica a shard.

use super::Control;
use super::limits::LISTED_URLS;
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;

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

impl Control {
    /// All URLs of all shards. Each shard is read from the replica that has applied most, so the crawl should be idle.
    pub async fn list_urls(&self) -> Result<Vec<Listed>, CommandError> {
        let mut urls = Vec::new();
        for shard in self.shards() {
            let statuses = self.all_statuses(*shard).await;
            let best = statuses.into_iter().max_by_key(|(_, s)| s.applied_index);
            let node = best.and_then(|(node, _)| self.nodes().get(&node));
            let node = node.ok_or_else(|| {
                CommandError::Message(format!("no node tells the URLs of shard {shard}"))
            })?;
            let mut cursor = prost::bytes::Bytes::new();
            loop {
                let request = pb::ListUrlsRequest {
                    shard: *shard,
                    cursor,
                };
                let slice = node.list_urls(request).await.map_err(|e| {
                    CommandError::of(&format!("cannot list the URLs of shard {shard}"), e)
                })?;
                urls.extend(slice.urls.into_iter().filter_map(listed));
                if urls.len() > LISTED_URLS {
                    return Err(CommandError::Message(format!(
                        "more than {LISTED_URLS} URLs: too many to judge"
                    )));
                }
                cursor = slice.cursor;
                if cursor.is_empty() {
                    break;
                }
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
