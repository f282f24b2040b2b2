//! Addresses and incarnations, told to every other node every second.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::greeter::Greeter;
use super::member::Member;
use super::replica_id::incarnation;
use crate::limits::GOSSIP_INTERVAL_MS;

/// Why a node must stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GossipEnd {
    /// A later incarnation of this node lives: this directory's place was given away.
    #[error(
        "incarnation {newest} of node {node} took this directory's place: its replica is never used again"
    )]
    Replaced {
        /// The node.
        node: u32,
        /// Its newest incarnation.
        newest: u32,
    },
}

/// Tells and hears until this node must stop.
pub async fn gossip(member: Arc<Member>, greeter: Arc<Greeter>) -> GossipEnd {
    loop {
        let others = member.others();
        let calls = others
            .iter()
            .map(|(_, address)| greeter.hello(address, member.introduction()));
        for ((node, _), answer) in others.iter().zip(join_all(calls).await) {
            let response = match answer {
                Ok(response) => response,
                Err(status) if status.code() == tonic::Code::FailedPrecondition => {
                    tracing::warn!(node, reason = status.message(), "refused by a node");
                    continue;
                }
                Err(_) => continue,
            };
            let own = member.replica().map_or(0, incarnation);
            if let Some(newest) = response.your_incarnation.filter(|newest| *newest > own) {
                let node = member.node;
                return GossipEnd::Replaced { node, newest };
            }
            let Some(callee) = response.callee else {
                continue;
            };
            if member.objection(&callee).is_some() || callee.node != *node {
                continue;
            }
            let learner = Arc::clone(&member);
            let learnt = tokio::task::spawn_blocking(move || learner.learn(&callee)).await;
            if let Ok(Err(error)) = learnt {
                tracing::warn!(%error, "cannot write down where nodes are");
            }
        }
        tokio::time::sleep(Duration::from_millis(GOSSIP_INTERVAL_MS)).await;
    }
}
