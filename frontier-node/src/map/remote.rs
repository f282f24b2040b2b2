//! What is asked of shards, over the internal service of the nodes that have them.

use std::sync::Arc;

use futures::future::join_all;
use proto::raft_v1 as pb;
use raftlog::NodeId;

use super::shaper::{ShapeError, Shaper, SplitOrder, Standing};
use crate::cluster::{AddressBook, Greeter};

/// Shards wherever they are, this node's own included.
pub(super) struct Remote {
    pub(super) greeter: Arc<Greeter>,
    pub(super) book: Arc<AddressBook>,
    pub(super) cluster_id: u64,
}

impl Remote {
    /// How all replicas of a group stand, each with its node's address. Who does not answer at once is left out.
    async fn ask_all(&self, group: u64) -> Vec<(String, pb::ShardStandingResponse)> {
        let entries = self.book.entries().into_iter();
        let addresses = entries.map(|e| e.address).filter(|a| !a.is_empty());
        let calls = addresses.map(|address| async move {
            let request = pb::ShardStandingRequest {
                cluster_id: self.cluster_id,
                group,
            };
            match self.greeter.shard_standing(&address, request).await {
                Ok(standing) => standing.here.then_some((address, standing)),
                Err(status) => {
                    let reason = status.message();
                    tracing::debug!(address, group, reason, "a replica's standing is not known");
                    None
                }
            }
        });
        join_all(calls).await.into_iter().flatten().collect()
    }

    /// Where the leader of a group is.
    async fn leader(&self, group: u64) -> Result<String, ShapeError> {
        let led = self.ask_all(group).await.into_iter();
        let newest = led
            .filter(|(_, s)| s.leader_term > 0)
            .max_by_key(|(_, s)| s.leader_term);
        newest
            .map(|(address, _)| address)
            .ok_or_else(|| ShapeError::Unavailable(format!("nobody leads group {group}")))
    }
}

#[async_trait::async_trait]
impl Shaper for Remote {
    async fn split(&self, order: &SplitOrder) -> Result<(), ShapeError> {
        let address = self.leader(order.shard).await?;
        let request = pb::SplitShardRequest {
            cluster_id: self.cluster_id,
            shard: order.shard,
            epoch: order.epoch,
            at: order.at,
            child: order.child,
            voters: order.voters.iter().copied().collect(),
        };
        let answer = self.greeter.split_shard(&address, request).await;
        refusal(answer.map_err(not_now)?.refused)
    }

    async fn standings(&self, group: u64) -> Vec<Standing> {
        let all = self.ask_all(group).await.into_iter();
        all.map(|(_, standing)| standing_of(standing)).collect()
    }

    async fn middle(&self, shard: u64) -> Result<u64, ShapeError> {
        let address = self.leader(shard).await?;
        let request = pb::SplitPointRequest {
            cluster_id: self.cluster_id,
            shard,
        };
        let answer = self.greeter.split_point(&address, request).await;
        let at = answer.map_err(not_now)?.at;
        at.ok_or_else(|| {
            ShapeError::Refused(format!("shard {shard} has fewer than two sites to divide"))
        })
    }

    async fn hand_over(&self, group: u64, to: NodeId) -> Result<(), ShapeError> {
        let address = self.leader(group).await?;
        let request = pb::HandOverRequest {
            cluster_id: self.cluster_id,
            group,
            to,
        };
        let answer = self.greeter.hand_over(&address, request).await;
        refusal(answer.map_err(not_now)?.refused)
    }
}

fn refusal(words: String) -> Result<(), ShapeError> {
    if words.is_empty() {
        Ok(())
    } else {
        Err(ShapeError::Refused(words))
    }
}

fn not_now(status: tonic::Status) -> ShapeError {
    ShapeError::Unavailable(status.message().to_owned())
}

fn standing_of(wire: pb::ShardStandingResponse) -> Standing {
    Standing {
        replica: wire.replica,
        epoch: wire.epoch,
        first: wire.first,
        last: wire.last,
        leader_term: (wire.leader_term > 0).then_some(wire.leader_term),
        is_proven: wire.is_proven,
        applied_index: wire.applied_index,
        voters: wire.voters.into_iter().collect(),
        learners: wire.learners.into_iter().collect(),
    }
}
