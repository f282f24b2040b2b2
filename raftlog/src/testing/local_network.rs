//! A network inside one process, whose links can be cut and whose messages can be interfered with.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use super::local_transport::LocalTransport;
use super::message::{Fate, Message};
use crate::engine::Engine;
use crate::errors::TransportError;
use crate::ids::{NodeId, process_of};

/// How often a held message is asked again.
const HOLD_STEP: Duration = Duration::from_millis(3);

type Interference = Arc<dyn Fn(&Message) -> Fate + Send + Sync>;

#[derive(Default)]
struct Links {
    nodes: HashMap<NodeId, Weak<Engine>>,
    cut: HashSet<(NodeId, NodeId)>,
    interference: Option<Interference>,
}

/// All nodes of a process.
#[derive(Clone, Default)]
pub struct LocalNetwork {
    links: Arc<Mutex<Links>>,
}

impl LocalNetwork {
    /// The transport of one node.
    pub fn transport(&self, node_id: NodeId) -> Arc<LocalTransport> {
        Arc::new(LocalTransport::new(node_id, self.clone()))
    }

    /// Makes a node reachable. One that is dropped is so no longer.
    pub fn attach(&self, engine: &Arc<Engine>) {
        self.links
            .lock()
            .nodes
            .insert(process_of(engine.options().node_id), Arc::downgrade(engine));
    }

    /// Cuts a node from all others, in both directions.
    pub fn isolate(&self, node_id: NodeId) {
        let mut links = self.links.lock();
        let others: Vec<_> = links
            .nodes
            .keys()
            .copied()
            .filter(|other| *other != node_id)
            .collect();
        links.cut.extend(
            others
                .iter()
                .flat_map(|other| [(node_id, *other), (*other, node_id)]),
        );
    }

    /// Mends all links.
    pub fn heal(&self) {
        self.links.lock().cut.clear();
    }

    /// Lets a test decide about each message, from now on. Called often and never under a lock of this network.
    pub fn interfere(&self, decide: impl Fn(&Message) -> Fate + Send + Sync + 'static) {
        self.links.lock().interference = Some(Arc::new(decide));
    }

    /// Leaves all messages alone again.
    pub fn leave_alone(&self) {
        self.links.lock().interference = None;
    }

    /// The node at the end of a link.
    pub(super) fn reach(&self, from: NodeId, to: NodeId) -> Result<Arc<Engine>, TransportError> {
        let links = self.links.lock();
        let node = links
            .nodes
            .get(&to)
            .filter(|_| !links.cut.contains(&(from, to)));
        node.and_then(Weak::upgrade)
            .ok_or_else(|| TransportError::Unreachable(format!("node {to}")))
    }

    pub(super) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        let links = self.links.lock();
        links.cut.contains(&(from, to))
            || links
                .nodes
                .get(&to)
                .is_none_or(|node| node.strong_count() == 0)
    }

    /// Carries a message over its link: what arrives, if anything does.
    pub(super) async fn carry(&self, message: Message, bytes: Bytes) -> Carried {
        loop {
            if self.is_cut(message.from, message.to) {
                return Carried::Lost;
            }
            let decide = self.links.lock().interference.clone();
            match decide.map_or(Fate::Pass, |decide| decide(&message)) {
                Fate::Pass => return Carried::Arrived(bytes),
                Fate::Delay(delay) => {
                    tokio::time::sleep(delay).await;
                    return Carried::Arrived(bytes);
                }
                Fate::Hold => tokio::time::sleep(HOLD_STEP).await,
                Fate::Lose => return Carried::Lost,
                Fate::Skip => return Carried::Skipped,
                Fate::Spoil => return Carried::Arrived(spoil(&bytes)),
            }
        }
    }
}

/// What came of a message.
pub(super) enum Carried {
    Arrived(Bytes),
    /// And its stream ends.
    Lost,
    /// And its stream goes on.
    Skipped,
}

fn spoil(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 0x20;
    }
    bytes.into()
}
