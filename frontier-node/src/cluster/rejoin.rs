//! A new incarnation takes the place of the one before, shard by shard, and in group 0.
//!
//! Driven by the node that came back, so it goes on whoever leads meanwhile: it asks everybody until each shard's leader
//! says that it votes and its older incarnation does not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proto::raft_v1 as pb;
use shard_map::GROUP_ZERO;

use super::greeter::Greeter;
use super::member::Member;
use crate::limits::REJOIN_PAUSE_MS;

/// Asks until every shard is done.
pub async fn rejoin(member: Arc<Member>, greeter: Arc<Greeter>) {
    let Some(descriptor) = member.descriptor() else {
        return;
    };
    let shards = descriptor.shards.iter().map(|range| range.shard);
    let mut left: BTreeSet<u64> = shards.chain([GROUP_ZERO]).collect();
    while !left.is_empty() {
        for shard in left.clone() {
            let request = pb::ReplaceRequest {
                cluster_id: descriptor.cluster_id,
                shard,
                replica: descriptor.replica,
            };
            if ask(&member, &greeter, request).await {
                tracing::info!(shard, replica = descriptor.replica, "voting again");
                left.remove(&shard);
            }
        }
        if !left.is_empty() {
            tokio::time::sleep(Duration::from_millis(REJOIN_PAUSE_MS)).await;
        }
    }
}

/// Asks every node; true when the leader says that it is done.
async fn ask(member: &Member, greeter: &Greeter, request: pb::ReplaceRequest) -> bool {
    for (node, address) in member.others() {
        match greeter.replace(&address, request).await {
            Ok(response) if response.done => return true,
            Ok(response) => {
                tracing::debug!(
                    shard = request.shard,
                    waits_for = response.waits_for,
                    "the leader works on it"
                );
                return false;
            }
            Err(status) => tracing::debug!(
                shard = request.shard,
                node,
                reason = status.message(),
                "not taken"
            ),
        }
    }
    false
}
