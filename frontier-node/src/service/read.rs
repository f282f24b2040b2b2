//! Reads: of rows with proof of leadership, of counters and the map without.

use client::CallError;
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use super::report::invalid;
use crate::convert::{host_record, listed_url, shard_status, url_record};
use crate::errors::unavailable;
use crate::limits::{CURSOR_SIZE_BYTES, LISTING_ROWS};
use crate::shard::Shard;

impl LocalFrontier {
    pub(super) async fn read_url(
        &self,
        request: pb::GetUrlRequest,
    ) -> Result<pb::GetUrlResponse, CallError> {
        let shard = self.node.shard(request.shard)?;
        let url = self
            .node
            .verifier
            .url(&request.url, request.partition)
            .map_err(invalid)?;
        self.check_range(shard, request.partition)?;
        let fingerprint = self.node.verifier.fingerprint(request.crawl, &url);
        let partition = request.partition;
        let term = term_for(shard, request.local)?;
        let (record, applied_index) = shard
            .look(move |machine, rows, index| {
                (machine.url_record(rows, partition, fingerprint), index)
            })
            .await?;
        let record = record.map_err(|error| unavailable(error.to_string()))?;
        prove(shard, term).await?;
        Ok(pb::GetUrlResponse {
            record: record.map(|record| url_record(record, url.into())),
            applied_index,
        })
    }

    pub(super) async fn read_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        let shard = self.node.shard(request.shard)?;
        self.node
            .verifier
            .host(&request.host, request.partition)
            .map_err(invalid)?;
        self.check_range(shard, request.partition)?;
        let term = term_for(shard, request.local)?;
        let (record, applied_index) = shard
            .look(move |machine, rows, index| {
                (
                    machine.host_record(rows, request.partition, &request.host),
                    index,
                )
            })
            .await?;
        let record = record.map_err(|error| unavailable(error.to_string()))?;
        prove(shard, term).await?;
        Ok(pb::GetHostResponse {
            record: record.map(host_record),
            applied_index,
        })
    }

    pub(super) async fn read_robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        let shard = self.node.shard(request.shard)?;
        if request.digest.len() != 32 {
            return Err(CallError::Invalid {
                index: 0,
                reason: "digest is not 32 bytes".to_owned(),
            });
        }
        self.check_range(shard, request.partition)?;
        let term = term_for(shard, false)?;
        let body = shard
            .look(move |machine, rows, _| {
                machine.robots_body(rows, request.partition, &request.digest)
            })
            .await?
            .map_err(|error| unavailable(error.to_string()))?;
        // A body under its digest is true whoever serves it; only its absence needs proof.
        if body.is_none() {
            prove(shard, term).await?;
        }
        Ok(pb::RobotsBodyResponse {
            body: body.map(Into::into),
        })
    }

    pub(super) async fn read_status(
        &self,
        request: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        let shard = self.node.shard(request.shard)?;
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

    pub(super) fn read_map(&self) -> pb::ShardMapResponse {
        let entry = |shard: &std::sync::Arc<Shard>| pb::ShardEntry {
            shard: shard.range().shard,
            first: shard.range().first,
            last: shard.range().last,
            epoch: 1,
            leader_address: self.node.context.hints.address(shard.leadership().leader),
        };
        pb::ShardMapResponse {
            version: self.node.map_version,
            shards: self.node.shards.values().map(entry).collect(),
            identity: Some(self.node.identity),
        }
    }

    fn check_range(&self, shard: &Shard, partition: u64) -> Result<(), CallError> {
        if shard.holds(partition) {
            return Ok(());
        }
        Err(CallError::WrongShard {
            map_version: self.node.map_version,
        })
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

/// Proof that the leadership of `term` held when the rows were read.
async fn prove(shard: &Shard, term: Option<u64>) -> Result<(), CallError> {
    let Some(term) = term else { return Ok(()) };
    if shard.confirm().await? == term {
        return Ok(());
    }
    Err(unavailable("leadership changed meanwhile"))
}
