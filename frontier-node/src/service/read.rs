//! Reads: of rows with proof of leadership, of counters and the map without.

use std::collections::BTreeMap;

use client::CallError;
use machine::{Machine, MachineError};
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use super::report::invalid;
use crate::convert::{host_record, listed_url, shard_status, url_record};
use crate::errors::unavailable;
use crate::limits::{CURSOR_SIZE_BYTES, LISTING_ROWS};
use crate::shard::Shard;
use crate::state::{Extent, StateRows};

impl LocalFrontier {
    pub(super) async fn read_url(
        &self,
        request: pb::GetUrlRequest,
    ) -> Result<pb::GetUrlResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        let url = self
            .node
            .verifier
            .url(&request.url, request.partition)
            .map_err(invalid)?;
        let fingerprint = self.node.verifier.fingerprint(request.crawl, &url);
        let partition = request.partition;
        let term = term_for(shard, request.local)?;
        let (record, applied_index) = self
            .look_at(shard, partition, move |machine, rows| {
                machine.url_record(rows, partition, fingerprint)
            })
            .await?;
        self.prove(shard, term, partition).await?;
        Ok(pb::GetUrlResponse {
            record: record.map(|record| url_record(record, url.into())),
            applied_index,
        })
    }

    pub(super) async fn read_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        self.node
            .verifier
            .host(&request.host, request.partition)
            .map_err(invalid)?;
        let partition = request.partition;
        let term = term_for(shard, request.local)?;
        // An idle shard's last entry may be seconds old, and a wait that is over would seem to go on. A local read says what is
        // applied here and nothing else.
        let leading = shard.leading().ok().filter(|_| !request.local);
        let now_ms = leading.map_or(0, |l| l.clock.stamp_ms(self.node.context.clocks.now()));
        let (record, applied_index) = self
            .look_at(shard, partition, move |machine, rows| {
                machine.host_record_at(rows, partition, &request.host, now_ms)
            })
            .await?;
        self.prove(shard, term, partition).await?;
        Ok(pb::GetHostResponse {
            record: record.map(host_record),
            applied_index,
        })
    }

    pub(super) async fn read_robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        if request.digest.len() != 32 {
            return Err(CallError::Invalid {
                index: 0,
                reason: "digest is not 32 bytes".to_owned(),
            });
        }
        let partition = request.partition;
        let term = term_for(shard, false)?;
        let (body, _) = self
            .look_at(shard, partition, move |machine, rows| {
                machine.robots_body(rows, partition, &request.digest)
            })
            .await?;
        // A body under its digest is true whoever serves it; only its absence needs proof.
        if body.is_none() {
            self.prove(shard, term, partition).await?;
        }
        Ok(pb::RobotsBodyResponse {
            body: body.map(Into::into),
        })
    }

    pub(super) async fn read_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        // Counters and the next ready moment of one entry: a lease granted between two looks would seem to be nowhere.
        let (status, ready_ms, applied_index) = shard
            .look(|machine, _, index| (machine.status(), machine.next_ready_ms(), index))
            .await?;
        let mut response = shard_status(request.shard, applied_index, status);
        let leading = shard.leading().ok();
        response.leader = leading.is_some();
        let now_ms = leading.map_or(response.now_ms, |l| {
            l.clock.stamp_ms(self.node.context.clocks.now())
        });
        response.next_ready_in_ms =
            ready_ms.map_or(u64::MAX, |ready_ms| ready_ms.saturating_sub(now_ms));
        Ok(response)
    }

    pub(super) async fn read_urls(
        &self,
        request: pb::ListUrlsRequest,
    ) -> Result<pb::ListUrlsResponse, CallError> {
        if request.cursor.len() > CURSOR_SIZE_BYTES {
            return Err(CallError::Invalid {
                index: 0,
                reason: format!("cursor is longer than {CURSOR_SIZE_BYTES} bytes"),
            });
        }
        let (listing, applied_index) = self
            .node
            .shard(request.shard)?
            .look(move |machine, rows, index| {
                (
                    machine.list_urls(rows, &request.cursor, LISTING_ROWS),
                    index,
                )
            })
            .await?;
        let listing = listing.map_err(|error| unavailable(error.to_string()))?;
        Ok(pb::ListUrlsResponse {
            urls: listing.urls.into_iter().map(listed_url).collect(),
            cursor: listing.cursor.into(),
            applied_index,
        })
    }

    /// All shards that this node knows of, children that are not open yet included, and where they are.
    pub(super) fn read_map(&self) -> pb::ShardMapResponse {
        let context = &self.node.context;
        let leader = |shard: u64| {
            let open = self.node.shards.get(shard)?;
            Some(context.address(open.leadership().leader?))
        };
        let (version, known) = context.map.all();
        let entry = |(shard, extent): (u64, Extent)| pb::ShardEntry {
            shard,
            first: extent.first,
            last: extent.last,
            epoch: extent.epoch,
            leader_address: leader(shard).unwrap_or_default(),
            replica_addresses: context.replica_addresses(shard),
        };
        pb::ShardMapResponse {
            version,
            shards: known.into_iter().map(entry).collect(),
            identity: Some(self.node.identity),
            node_addresses: self.node_addresses(),
        }
    }

    /// Where the nodes are that take part: by the map, and of each what it says of itself if that is known.
    fn node_addresses(&self) -> Vec<String> {
        let entries = self.node.book.entries().into_iter();
        let mut said: BTreeMap<u32, String> = entries.map(|e| (e.node, e.address)).collect();
        let mut nodes = self.node.context.map.addresses();
        if nodes.is_empty() {
            nodes.append(&mut said);
        }
        let known = nodes.into_iter().map(|(node, address)| {
            let said = said.remove(&node).filter(|address| !address.is_empty());
            said.unwrap_or(address)
        });
        known.filter(|address| !address.is_empty()).collect()
    }

    /// Reads what a shard owns: its range and its rows in one view, so that nothing is read of what a child owns.
    async fn look_at<R: Send + 'static>(
        &self,
        shard: &Shard,
        partition: u64,
        read: impl FnOnce(&Machine, &StateRows) -> Result<R, MachineError> + Send + 'static,
    ) -> Result<(R, u64), CallError> {
        let found = shard.look(move |machine, rows, index| {
            Extent::of(machine)
                .holds(partition)
                .then(|| (read(machine, rows), index))
        });
        let (read, applied_index) = found.await?.ok_or_else(|| self.node.wrong_shard())?;
        let read = read.map_err(|error| unavailable(error.to_string()))?;
        Ok((read, applied_index))
    }

    /// Proof that the leadership of `term` held when the rows were read, and that they were the shard's then: what was committed
    /// before the proof is applied now, a split included, after which the child has led its range without this shard.
    async fn prove(
        &self,
        shard: &Shard,
        term: Option<u64>,
        partition: u64,
    ) -> Result<(), CallError> {
        let Some(term) = term else { return Ok(()) };
        if shard.confirm().await? != term {
            return Err(unavailable("leadership changed meanwhile"));
        }
        if shard.holds(partition) {
            return Ok(());
        }
        Err(self.node.wrong_shard())
    }
}

/// The term that must still hold when rows were read; `None` for a local read.
fn term_for(shard: &Shard, local: bool) -> Result<Option<u64>, CallError> {
    if local {
        return Ok(None);
    }
    shard.leading()?;
    let term = shard
        .proven_term()
        .ok_or_else(|| unavailable("the shard's leader has not recovered yet"))?;
    Ok(Some(term))
}
