//! Addresses, incarnations and the map's version, told to every other node every second, and whenever the map has changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::watch;
use tonic::{Code, Status};

use super::greeter::Greeter;
use super::member::Member;
use super::replica_id::incarnation;
use crate::limits::{GOSSIP_INTERVAL_MS, MAP_NEWS_PAUSE_MS};
use crate::map::MapView;

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
    /// The shard map says that the node left, or was replaced by others.
    #[error(
        "node {node} left the cluster under incarnation {incarnation}: this directory takes part no more. An empty one may join under a new number, or under this one again"
    )]
    Gone {
        /// The node.
        node: u32,
        /// Its incarnation that is gone.
        incarnation: u32,
    },
}

/// Tells and hears until this node must stop. The replicas of group 0 tell at once what is new in the map.
pub async fn gossip(member: Arc<Member>, greeter: Arc<Greeter>) -> GossipEnd {
    let mut refusals = Refusals::default();
    let mut views = member.copy.watch();
    loop {
        let _told = views.borrow_and_update().map.version;
        if let Some(incarnation) = member.gone() {
            let node = member.node;
            return GossipEnd::Gone { node, incarnation };
        }
        let others = member.others();
        let calls = others
            .iter()
            .map(|(_, address)| greeter.hello(address, member.introduction()));
        for ((node, _), answer) in others.iter().zip(join_all(calls).await) {
            let response = match answer {
                Ok(response) => response,
                Err(status) => {
                    refusals.heard(*node, &status);
                    continue;
                }
            };
            refusals.taken(*node);
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
            if callee.cluster_id != 0 {
                member.copy.hear(callee.map_version, &callee.address);
            }
            let learner = Arc::clone(&member);
            let learnt = tokio::task::spawn_blocking(move || learner.learn(&callee)).await;
            if let Ok(Err(error)) = learnt {
                tracing::warn!(%error, "cannot write down where nodes are");
            }
        }
        let longest = Duration::from_millis(GOSSIP_INTERVAL_MS);
        // Cut short by news.
        let _in_time = tokio::time::timeout(longest, news(&member, &mut views)).await;
    }
}

/// Returns when the map has changed and this node has a replica of group 0.
async fn news(member: &Member, views: &mut watch::Receiver<MapView>) {
    tokio::time::sleep(Duration::from_millis(MAP_NEWS_PAUSE_MS)).await;
    let is_own = |view: &MapView| view.map.group_zero.is_on(member.node) || member.gone().is_some();
    while views.changed().await.is_ok() {
        if is_own(&views.borrow_and_update()) {
            return;
        }
    }
    std::future::pending().await
}

/// What each node refused this one for: said when it changes, not every second.
#[derive(Default)]
struct Refusals(BTreeMap<u32, String>);

impl Refusals {
    /// True if it was news. That a node is out of reach says nothing of it.
    fn heard(&mut self, node: u32, status: &Status) -> bool {
        if !matches!(
            status.code(),
            Code::FailedPrecondition | Code::AlreadyExists
        ) {
            return false;
        }
        let reason = status.message();
        let before = self.0.insert(node, reason.to_owned());
        let is_new = before.as_deref() != Some(reason);
        if is_new {
            tracing::warn!(node, reason, "refused by a node");
        }
        is_new
    }

    fn taken(&mut self, node: u32) {
        if self.0.remove(&node).is_some() {
            tracing::info!(node, "no longer refused by a node");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_said_once_for_each_change() {
        let mut refusals = Refusals::default();
        let other = Status::failed_precondition("another cluster");
        assert!(refusals.heard(2, &other));
        assert!(!refusals.heard(2, &other));
        assert!(refusals.heard(3, &other), "each node for itself");
        assert!(!refusals.heard(2, &Status::unavailable("away")));
        assert!(!refusals.heard(2, &other), "being away changes nothing");
        assert!(refusals.heard(2, &Status::failed_precondition("another list")));
        refusals.taken(2);
        assert!(refusals.heard(2, &other));
    }
}
