//! What operators read and do: hosts in slices, what is set for a shard, nodes without the stores that are lost.

use std::collections::BTreeSet;

use client::CallError;
use machine::command::lost_store::LostStore;
use machine::{Body, CommandReply};
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use super::discover::wrong_reply;
use crate::convert::{host_record, shard_settings};
use crate::errors::unavailable;
use crate::limits::{CURSOR_SIZE_BYTES, LISTED_HOSTS};
use crate::state::Extent;

impl LocalFrontier {
    pub(super) async fn read_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        check_cursor(&request.cursor)?;
        let site = request.partition;
        let found = self
            .node
            .shard(request.shard)?
            .look(move |machine, rows, index| {
                let extent = Extent::of(machine);
                let is_here = site.is_none_or(|site| extent.holds(site));
                let listing = machine.list_hosts(rows, site, &request.cursor, LISTED_HOSTS);
                is_here.then_some((listing, index))
            })
            .await?;
        let (listing, applied_index) = found.ok_or_else(|| self.node.wrong_shard())?;
        let listing = listing.map_err(|error| unavailable(error.to_string()))?;
        Ok(pb::ListHostsResponse {
            hosts: listing.hosts.into_iter().map(host_record).collect(),
            cursor: listing.cursor.into(),
            applied_index,
        })
    }

    pub(super) async fn read_settings(
        &self,
        request: pb::ShardSettingsRequest,
    ) -> Result<pb::ShardSettingsResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        shard.leading()?;
        // Proven first: what is read then is at least as new.
        shard.confirm().await?;
        let (settings, applied_index) = shard
            .look(|machine, _, index| (machine.settings(), index))
            .await?;
        Ok(shard_settings(settings, applied_index))
    }

    pub(super) async fn lose_store(
        &self,
        request: pb::LostStoreRequest,
    ) -> Result<pb::LostStoreResponse, CallError> {
        check_cursor(&request.cursor)?;
        let shard = &*self.node.shard(request.shard)?;
        let body = Body::LostStore(LostStore {
            store: request.store,
            sweep: request.sweep,
            cursor: request.cursor.into(),
        });
        match shard.submit(body).await?.reply {
            CommandReply::LostStore(reply) => Ok(pb::LostStoreResponse {
                requeued: reply.requeued,
                waiting: reply.waiting,
                ended: reply.ended,
                cursor: reply.cursor.into(),
                refused_reason: reply.refused.to_owned(),
            }),
            _ => Err(wrong_reply()),
        }
    }

    /// The nodes. One whose store is lost for good has none: whoever put pages there would have them queued again for ever.
    pub(super) fn read_nodes(&self) -> pb::NodesResponse {
        let shards = self.node.shards.all();
        let dead: BTreeSet<u32> = (shards.iter())
            .flat_map(|shard| shard.published().dead_stores)
            .collect();
        let mut nodes = self.node.book.nodes();
        for node in &mut nodes.nodes {
            if dead.contains(&node.store_id) {
                node.store_id = 0;
            }
        }
        nodes
    }
}

fn check_cursor(cursor: &[u8]) -> Result<(), CallError> {
    if cursor.len() <= CURSOR_SIZE_BYTES {
        return Ok(());
    }
    Err(CallError::Invalid {
        index: 0,
        reason: format!("cursor is longer than {CURSOR_SIZE_BYTES} bytes"),
    })
}
