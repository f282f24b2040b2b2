//! The router: finds the owner of every item and the leader of every shard.

use std::collections::HashMap;
use std::sync::Arc;

use crate::limits::{LEADER_HOPS, OFFER_CONCURRENCY, OFFER_DEADLINE_MS, RETRY_PAUSE_MS};
use crate::shard_table::{MapError, ShardTable};
use crate::{CallError, Frontier};
use futures::future::BoxFuture;
use parking_lot::RwLock;
use proto::frontier_v1 as pb;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

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

/// Options of a [`Router`].
#[derive(Clone, Debug)]
pub struct RouterOptions {
    /// The cluster's suffix list: decides which site a host belongs to.
    pub suffixes: Arc<SuffixList>,
    /// How long one `offer` retries, ms.
    pub offer_deadline_ms: u64,
    /// Batches under way at once, all offers together.
    pub concurrency: usize,
    /// First and longest pause between tries, ms.
    pub retry_pause_ms: (u64, u64),
}

impl RouterOptions {
    /// The defaults, with a suffix list.
    pub const fn new(suffixes: Arc<SuffixList>) -> Self {
        Self {
            suffixes,
            offer_deadline_ms: OFFER_DEADLINE_MS,
            concurrency: OFFER_CONCURRENCY,
            retry_pause_ms: RETRY_PAUSE_MS,
        }
    }
}

/// Why a router was not made, or its map not refreshed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// No frontier was given.
    #[error("no frontier to talk to")]
    NoPeers,
    /// None answered; the last one's error.
    #[error("no frontier answered: {0}")]
    Unreachable(CallError),
    /// The cluster canonicalises by other rules.
    #[error("the cluster has canonicaliser version {theirs}, this program {ours}")]
    Canonicalizer {
        /// Of the cluster.
        theirs: u32,
        /// Of this program.
        ours: u32,
    },
    /// The cluster has another suffix list.
    #[error("the cluster's suffix list has digest {theirs:016x}, the one given here {ours:016x}")]
    SuffixList {
        /// Of the cluster.
        theirs: u64,
        /// Of the list in the options.
        ours: u64,
    },
    /// The map makes no sense.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Routes calls and items over the frontiers of one cluster. Holds the shard map and refreshes it when an answer shows
/// that it is behind.
pub struct Router {
    pub(crate) options: RouterOptions,
    pub(crate) permits: tokio::sync::Semaphore,
    peers: Vec<Peer>,
    table: RwLock<Arc<ShardTable>>,
    /// Which peer led a shard when it last answered.
    leaders: RwLock<HashMap<u64, usize>>,
    refreshing: tokio::sync::Mutex<()>,
}

impl Router {
    /// Reads the shard map of the first frontier that answers and checks the cluster's identity.
    ///
    /// # Errors
    ///
    /// Nobody answered, or the identity is not ours.
    pub async fn connect(peers: Vec<Peer>, options: RouterOptions) -> Result<Self, RouterError> {
        if peers.is_empty() {
            return Err(RouterError::NoPeers);
        }
        let router = Self {
            permits: tokio::sync::Semaphore::new(options.concurrency.max(1)),
            options,
            peers,
            table: RwLock::default(),
            leaders: RwLock::default(),
            refreshing: tokio::sync::Mutex::new(()),
        };
        router.refresh().await?;
        Ok(router)
    }

    /// Reads the shard map again. Calls at the same moment share one reading.
    ///
    /// # Errors
    ///
    /// As for [`Router::connect`]; the old map stays in use.
    pub async fn refresh(&self) -> Result<(), RouterError> {
        let before = Arc::clone(&self.table.read());
        let _one_at_a_time = self.refreshing.lock().await;
        if !Arc::ptr_eq(&before, &self.table.read()) {
            return Ok(());
        }
        let mut last = RouterError::NoPeers;
        for peer in &self.peers {
            match peer.frontier.shard_map(pb::ShardMapRequest {}).await {
                Ok(response) => return self.take(response),
                Err(error) => last = RouterError::Unreachable(error),
            }
        }
        Err(last)
    }

    fn take(&self, response: pb::ShardMapResponse) -> Result<(), RouterError> {
        let table = ShardTable::new(response)?;
        check_identity(&table.identity, &self.options.suffixes)?;
        let mut current = self.table.write();
        // A peer may be behind another one that was asked before.
        if table.version >= current.version {
            *current = Arc::new(table);
        }
        Ok(())
    }

    /// The shards of the map, by first hash.
    pub fn shards(&self) -> Vec<pb::ShardEntry> {
        self.table().entries().cloned().collect()
    }

    /// The cluster's identity.
    pub fn identity(&self) -> pb::Identity {
        self.table().identity
    }

    /// Version of the map in use.
    pub fn map_version(&self) -> u64 {
        self.table().version
    }

    /// The shard that owns a partition hash, by the map in use.
    pub fn owner(&self, partition: u64) -> Option<u64> {
        self.table().owner(partition).map(|entry| entry.shard)
    }

    /// The partition hash of a canonical host.
    pub fn partition_of_host(&self, host: &str) -> u64 {
        urlkey::partition_hash(&self.options.suffixes.site(host)).0
    }

    /// The nodes of the cluster, as the first one that answers knows them.
    ///
    /// # Errors
    ///
    /// Nobody answered; the last one's error.
    pub async fn nodes(&self) -> Result<pb::NodesResponse, CallError> {
        let mut last = CallError::Unavailable {
            reason: "no frontier to talk to".to_owned(),
            retry_after_ms: 0,
        };
        for peer in &self.peers {
            match peer.frontier.nodes(pb::NodesRequest {}).await {
                Ok(response) => return Ok(response),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(crate) fn table(&self) -> Arc<ShardTable> {
        Arc::clone(&self.table.read())
    }

    /// Calls a shard's leader as far as it is known; follows hints, else tries the peers in turn.
    pub(crate) async fn call<R: Send>(
        &self,
        shard: u64,
        send: impl Fn(Arc<dyn Frontier>) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
    ) -> Result<R, CallError> {
        let mut index = self.likely_leader(shard);
        let mut hops = 0;
        loop {
            let result = send(Arc::clone(&self.peers[index].frontier)).await;
            hops += 1;
            match result {
                Ok(answer) => {
                    self.leaders.write().insert(shard, index);
                    return Ok(answer);
                }
                Err(CallError::NotLeader { leader_address })
                    if hops < LEADER_HOPS && self.peers.len() > 1 =>
                {
                    index = self
                        .peer_at(&leader_address)
                        .unwrap_or((index + 1) % self.peers.len());
                }
                Err(error) => {
                    self.leaders.write().remove(&shard);
                    return Err(error);
                }
            }
        }
    }

    fn likely_leader(&self, shard: u64) -> usize {
        if let Some(index) = self.leaders.read().get(&shard) {
            return *index;
        }
        let table = self.table();
        table
            .entry(shard)
            .and_then(|entry| self.peer_at(&entry.leader_address))
            .unwrap_or(0)
    }

    fn peer_at(&self, address: &str) -> Option<usize> {
        if address.is_empty() {
            return None;
        }
        self.peers.iter().position(|peer| peer.address == address)
    }
}

fn check_identity(theirs: &pb::Identity, suffixes: &SuffixList) -> Result<(), RouterError> {
    if theirs.canonicalizer_version != CANONICALIZER_VERSION {
        let (theirs, ours) = (theirs.canonicalizer_version, CANONICALIZER_VERSION);
        return Err(RouterError::Canonicalizer { theirs, ours });
    }
    if theirs.suffix_list_digest != suffixes.digest() {
        return Err(RouterError::SuffixList {
            theirs: theirs.suffix_list_digest,
            ours: suffixes.digest(),
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
