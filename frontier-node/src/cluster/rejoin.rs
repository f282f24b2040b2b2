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
use crate::node::FrontierNode;

/// Asks until every shard is done. A child of a split becomes known when its parent has been fed, and a parent votes only then.
pub async fn rejoin(member: Arc<Member>, greeter: Arc<Greeter>, node: Arc<FrontierNode>) {
    let Some(descriptor) = member.descriptor() else {
        return;
    };
    let mut done = BTreeSet::new();
    loop {
        let founding = descriptor.shards.iter().map(|range| range.shard);
        let known: BTreeSet<u64> = node.known_shards().into_iter().chain(founding).collect();
        let known = known.into_iter().chain([GROUP_ZERO]);
        let left: Vec<u64> = known.filter(|shard| !done.contains(shard)).collect();
        if left.is_empty() {
            return;
        }
        let wanted = done.len() + left.len();
        for shard in left {
            let request = pb::ReplaceRequest {
                cluster_id: descriptor.cluster_id,
                shard,
                replica: descriptor.replica,
            };
            if ask(&member, &greeter, request).await {
                tracing::info!(shard, replica = descriptor.replica, "voting again");
                done.insert(shard);
            }
        }
        if done.len() < wanted {
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
