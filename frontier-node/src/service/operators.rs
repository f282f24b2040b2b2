//! What operators read: hosts in slices, and what is set for a shard.

use client::CallError;
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use crate::convert::{host_record, shard_settings};
use crate::errors::unavailable;
use crate::limits::{CURSOR_SIZE_BYTES, LISTED_HOSTS};
use crate::state::Extent;

impl LocalFrontier {
    pub(super) async fn read_hosts(
        &self,
        request: pb::ListHostsRequest,
    ) -> Result<pb::ListHostsResponse, CallError> {
        if request.cursor.len() > CURSOR_SIZE_BYTES {
            return Err(CallError::Invalid {
                index: 0,
                reason: format!("cursor is longer than {CURSOR_SIZE_BYTES} bytes"),
            });
        }
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
}
