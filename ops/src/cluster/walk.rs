//! Every URL of a cluster, shard by shard in the order of their ranges, while shards split.
//!
//! The hash space is walked, not a list of shards: when the listing of a shard has ended, the maps of all nodes are read again, and
//! the walk goes on behind what that shard still has. So a child that came meanwhile is not left out; what its parent listed
//! before the split it lists again.

use super::NodeClient;
use super::listing::{self, Listing};
use crate::output::CommandError;
use client::Router;
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;

/// A walk over all URLs.
pub struct Walk<'a> {
    router: &'a Router,
    nodes: &'a BTreeMap<u32, NodeClient>,
    /// First hash that is not walked yet; none: all are.
    next: Option<u64>,
    listing: Option<(u64, Listing<'a>)>,
}

impl<'a> Walk<'a> {
    /// From the first hash on.
    pub const fn new(router: &'a Router, nodes: &'a BTreeMap<u32, NodeClient>) -> Self {
        Self {
            router,
            nodes,
            next: Some(0),
            listing: None,
        }
    }

    /// The next slice, of one shard; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<pb::ListedUrl>>, CommandError> {
        loop {
            if let Some((shard, listing)) = &mut self.listing {
                if let Some(urls) = listing.next().await? {
                    return Ok(Some(urls));
                }
                let shard = *shard;
                self.listing = None;
                self.leave(shard).await?;
            }
            let Some(next) = self.next else {
                return Ok(None);
            };
            let shard = self.router.owner(next).ok_or_else(|| {
                CommandError::Message(format!("no shard has the hash {next:016x}"))
            })?;
            let listing = listing::of_shard(self.nodes, shard).await?;
            self.listing = Some((shard, listing));
        }
    }

    /// Goes on behind the range that a shard has now.
    async fn leave(&mut self, shard: u64) -> Result<(), CommandError> {
        let read = self.router.read_all().await;
        read.map_err(|error| CommandError::of("the shards cannot be listed", error))?;
        let entries = self.router.shards();
        let entry = entries.iter().find(|entry| entry.shard == shard);
        let entry = entry.ok_or_else(|| CommandError::Message(format!("shard {shard} is gone")))?;
        self.next = entry.last.checked_add(1);
        Ok(())
    }
}
