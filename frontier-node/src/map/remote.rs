//! What is asked of shards, over the internal service of the nodes that have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use proto::raft_v1 as pb;
use raftlog::NodeId;
use tonic::Status;

use super::shaper::{MemberChange, MemberOrder, ShapeError, Shaper, SplitOrder, Standing, Weight};
use crate::cluster::{AddressBook, Greeter, node_number};

/// Shards wherever they are, this node's own included.
pub(super) struct Remote {
    greeter: Arc<Greeter>,
    book: Arc<AddressBook>,
    cluster_id: u64,
    /// Where the leader of a group was last.
    leaders: Mutex<BTreeMap<u64, String>>,
}

impl Remote {
    pub(super) fn new(greeter: Arc<Greeter>, book: Arc<AddressBook>, cluster_id: u64) -> Self {
        Self {
            greeter,
            book,
            cluster_id,
            leaders: Mutex::default(),
        }
    }

    /// How all replicas of a group stand, each with its node's address. Who does not answer at once is left out.
    async fn ask_all(&self, group: u64) -> Vec<(String, pb::ShardStandingResponse)> {
        let entries = self.book.entries().into_iter();
        let addresses = entries.map(|e| e.address).filter(|a| !a.is_empty());
        let calls = addresses.map(|address| async move {
            match self.standing_at(&address, group).await {
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

    async fn standing_at(
        &self,
        address: &str,
        group: u64,
    ) -> Result<pb::ShardStandingResponse, Status> {
        let request = pb::ShardStandingRequest {
            cluster_id: self.cluster_id,
            group,
        };
        self.greeter.shard_standing(address, request).await
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

    /// A call at the leader of a group: where it was last, else where it is now.
    async fn at_leader<R, F>(
        &self,
        group: u64,
        call: impl Fn(String) -> F + Send + Sync,
    ) -> Result<R, ShapeError>
    where
        R: Send,
        F: Future<Output = Result<R, Status>> + Send,
    {
        let last = self.leaders.lock().get(&group).cloned();
        if let Some(address) = last {
            match call(address).await {
                Ok(answer) => return Ok(answer),
                Err(status) => {
                    let reason = status.message();
                    tracing::debug!(group, reason, "the leader is not where it was");
                    self.leaders.lock().remove(&group);
                }
            }
        }
        let address = self.leader(group).await?;
        let answer = call(address.clone()).await.map_err(not_now)?;
        self.leaders.lock().insert(group, address);
        Ok(answer)
    }

    fn address_of(&self, node: u32) -> Result<String, ShapeError> {
        let mut entries = self.book.entries().into_iter();
        let found = entries.find(|entry| entry.node == node && !entry.address.is_empty());
        found
            .map(|entry| entry.address)
            .ok_or_else(|| ShapeError::Unavailable(format!("it is not known where node {node} is")))
    }
}

#[async_trait::async_trait]
impl Shaper for Remote {
    async fn split(&self, order: &SplitOrder) -> Result<(), ShapeError> {
        let request = pb::SplitShardRequest {
            cluster_id: self.cluster_id,
            shard: order.shard,
            epoch: order.epoch,
            at: order.at,
            child: order.child,
            voters: order.voters.iter().copied().collect(),
        };
        let answer = self.at_leader(order.shard, |address| {
            let request = request.clone();
            async move { self.greeter.split_shard(&address, request).await }
        });
        refusal(answer.await?.refused)
    }

    async fn standings(&self, group: u64) -> Vec<Standing> {
        let all = self.ask_all(group).await.into_iter();
        all.map(|(_, standing)| standing_of(standing)).collect()
    }

    async fn weigh(&self, shard: u64) -> Result<Weight, ShapeError> {
        let request = pb::SplitPointRequest {
            cluster_id: self.cluster_id,
            shard,
        };
        let answer = self.at_leader(shard, |address| async move {
            self.greeter.split_point(&address, request).await
        });
        let answer = answer.await?;
        Ok(Weight {
            size_bytes: answer.size_bytes,
            middle: answer.at,
        })
    }

    async fn hand_over(&self, group: u64, to: NodeId) -> Result<(), ShapeError> {
        let request = pb::HandOverRequest {
            cluster_id: self.cluster_id,
            group,
            to,
        };
        let answer = self.at_leader(group, |address| async move {
            self.greeter.hand_over(&address, request).await
        });
        refusal(answer.await?.refused)
    }

    async fn change_members(&self, order: &MemberOrder) -> Result<(), ShapeError> {
        let (what, old) = match order.change {
            MemberChange::Add => (pb::MemberChange::Add, None),
            MemberChange::CatchUp => (pb::MemberChange::CatchUp, None),
            MemberChange::Vote { old } => (pb::MemberChange::Vote, old),
            MemberChange::Remove => (pb::MemberChange::Remove, None),
        };
        let request = pb::ChangeMembersRequest {
            cluster_id: self.cluster_id,
            group: order.group,
            what: what.into(),
            replica: order.replica,
            old: old.unwrap_or(0),
        };
        let answer = self.at_leader(order.group, |address| async move {
            self.greeter.change_members(&address, request).await
        });
        let answer = answer.await?;
        if answer.done {
            return Ok(());
        }
        refusal(answer.refused)?;
        Err(ShapeError::Unavailable(answer.waits_for))
    }

    async fn has_replica(&self, group: u64, replica: NodeId) -> Result<bool, ShapeError> {
        let address = self.address_of(node_number(replica))?;
        let standing = self.standing_at(&address, group).await.map_err(not_now)?;
        Ok(standing.here && standing.replica == replica)
    }

    async fn report(&self, node: u32) -> Result<BTreeMap<u64, Standing>, ShapeError> {
        let address = self.address_of(node)?;
        let request = pb::ReportRequest {
            cluster_id: self.cluster_id,
        };
        let answer = self.greeter.report(&address, request).await;
        let groups = answer.map_err(not_now)?.groups.into_iter();
        let standings = groups.filter_map(|report| Some((report.group, report.standing?)));
        Ok(standings
            .map(|(group, standing)| (group, standing_of(standing)))
            .collect())
    }
}

fn refusal(words: String) -> Result<(), ShapeError> {
    if words.is_empty() {
        Ok(())
    } else {
        Err(ShapeError::Refused(words))
    }
}

fn not_now(status: Status) -> ShapeError {
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
