//! The frontier processes that a router knows: given at its start, or learnt from shard maps and leader hints.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::health::Health;
use crate::limits::PEERS;
use crate::traffic::Traffic;
use crate::{Frontier, GrpcFrontier};

/// A frontier process, and the address under which others name it in leader hints.
#[derive(Clone)]
pub struct Peer {
    /// `host:port`; empty for a frontier in this process that has none.
    pub address: String,
    /// How to call it.
    pub frontier: Arc<dyn Frontier>,
}

impl Peer {
    /// A frontier of this process.
    pub fn local(frontier: Arc<dyn Frontier>) -> Self {
        Self {
            address: String::new(),
            frontier,
        }
    }
}

/// A peer with what is known of it.
pub(crate) struct Known {
    pub(crate) address: String,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) health: Arc<Health>,
    /// Learnt, not given: makes room when there are too many.
    learnt: bool,
}

impl Known {
    /// How it is named to people.
    pub(crate) fn name(&self) -> &str {
        if self.address.is_empty() {
            "this process"
        } else {
            &self.address
        }
    }
}

/// All peers. The set grows while the router runs, within [`PEERS`].
pub(crate) struct Peers {
    list: RwLock<Vec<Arc<Known>>>,
    traffic: Arc<Traffic>,
}

impl Peers {
    pub(crate) fn new(given: Vec<Peer>, traffic: Arc<Traffic>) -> Self {
        let known = |peer: Peer| {
            Arc::new(Known {
                address: peer.address,
                frontier: peer.frontier,
                health: Arc::default(),
                learnt: false,
            })
        };
        Self {
            list: RwLock::new(given.into_iter().map(known).collect()),
            traffic,
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Known>> {
        self.list.read().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.read().len()
    }

    /// The peers in the order in which they are best asked.
    pub(crate) fn by_health(&self) -> Vec<Arc<Known>> {
        by_health(self.all())
    }

    /// Forgets those that were learnt and are not wanted any more.
    pub(crate) fn keep_learnt(&self, is_wanted: impl Fn(&str) -> bool) {
        let is_kept = |peer: &Arc<Known>| !peer.learnt || is_wanted(&peer.address);
        let mut list = self.list.write();
        for gone in list.iter().filter(|peer| !is_kept(peer)) {
            tracing::info!(
                address = gone.address,
                "a frontier process takes part no more"
            );
        }
        list.retain(is_kept);
    }

    /// The peer at an address, made known if it is new. None for no address, or for one that cannot be called.
    pub(crate) fn at(&self, address: &str) -> Option<Arc<Known>> {
        self.find(address).or_else(|| {
            self.add(address, true)
                .inspect_err(|why| {
                    if !address.is_empty() {
                        tracing::warn!(address, why, "a frontier's address was not taken");
                    }
                })
                .ok()
        })
    }

    fn find(&self, address: &str) -> Option<Arc<Known>> {
        if address.is_empty() {
            return None;
        }
        let list = self.list.read();
        list.iter().find(|peer| peer.address == address).cloned()
    }

    /// Adds a process by its address.
    pub(crate) fn add(&self, address: &str, learnt: bool) -> Result<Arc<Known>, String> {
        if address.is_empty() {
            return Err("it is empty".to_owned());
        }
        let health: Arc<Health> = Arc::default();
        let frontier = GrpcFrontier::new(address)
            .map_err(|error| error.to_string())?
            .watched(Arc::clone(&self.traffic), Arc::clone(&health));
        let new = Arc::new(Known {
            address: address.to_owned(),
            frontier: Arc::new(frontier),
            health,
            learnt,
        });
        let mut list = self.list.write();
        if let Some(known) = list.iter().find(|peer| peer.address == address) {
            return Ok(Arc::clone(known));
        }
        if list.len() >= PEERS {
            let stale = list
                .iter()
                .position(|peer| peer.learnt && peer.health.is_down());
            match stale {
                Some(index) => drop(list.remove(index)),
                None => return Err(format!("{PEERS} are known already")),
            }
        }
        tracing::info!(address, "a frontier process became known");
        list.push(Arc::clone(&new));
        Ok(new)
    }
}

/// Those that answer first, then those that failed longest ago.
pub(crate) fn by_health(peers: Vec<Arc<Known>>) -> Vec<Arc<Known>> {
    let with_health = peers.into_iter();
    let mut peers: Vec<_> = with_health
        .map(|peer| (peer.health.suspect_until(), peer))
        .collect();
    peers.sort_by_key(|(suspect_until, _)| *suspect_until);
    peers.into_iter().map(|(_, peer)| peer).collect()
}

/// Whether more than half of them do not answer.
pub(crate) fn most_are_down(peers: &[Arc<Known>]) -> bool {
    peers.iter().filter(|peer| peer.health.is_down()).count() * 2 > peers.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_are_learnt_once_and_within_the_bound() {
        let peers = Peers::new(Vec::new(), Arc::default());
        assert!(peers.at("").is_none() && peers.at("http://a b").is_none());
        let first = peers.at("127.0.0.1:1").unwrap();
        assert!(Arc::ptr_eq(&first, &peers.at("127.0.0.1:1").unwrap()));
        for port in 2..=PEERS {
            assert!(peers.at(&format!("127.0.0.1:{port}")).is_some());
        }
        assert!(peers.at("127.0.0.1:65000").is_none(), "full");
        first.health.failed();
        assert!(peers.at("127.0.0.1:65000").is_some());
        assert_eq!(peers.len(), PEERS);
        assert!(peers.find("127.0.0.1:1").is_none(), "made room");
        assert_eq!(peers.by_health().len(), PEERS);
    }

    #[tokio::test]
    async fn those_that_answer_are_asked_first() {
        let peers = Peers::new(Vec::new(), Arc::default());
        let all: Vec<_> = (1..=3)
            .map(|port| peers.at(&format!("127.0.0.1:{port}")).unwrap())
            .collect();
        all[0].health.failed();
        assert!(!most_are_down(&all));
        all[1].health.failed();
        assert!(most_are_down(&all));
        assert_eq!(peers.by_health()[0].address, "127.0.0.1:3");
    }

    #[tokio::test]
    async fn only_what_was_learnt_is_forgotten() {
        let peers = Peers::new(Vec::new(), Arc::default());
        peers.add("127.0.0.1:1", false).unwrap();
        for port in [2, 3] {
            assert!(peers.at(&format!("127.0.0.1:{port}")).is_some());
        }
        peers.keep_learnt(|address| address.ends_with(":3"));
        let left: Vec<_> = peers.all().iter().map(|p| p.address.clone()).collect();
        assert_eq!(left, ["127.0.0.1:1", "127.0.0.1:3"]);
    }
}
