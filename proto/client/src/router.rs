//! The router: finds the owner of every item and the leader of every shard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::limits::{
    ATTEMPT_MS, CALL_MS, LEADERLESS_MS, LOOK_UP_PAUSE_MS, OFFER_CONCURRENCY, OFFER_DEADLINE_MS,
    RETRY_PAUSE_MS, SUSPECT_ATTEMPT_MS,
};
use crate::peers::{Known, Peer, Peers, by_health};
use crate::request_id::RequestIds;
use crate::shard_state::{ShardState, ShardStates};
use crate::shard_table::{MapError, ShardTable};
use crate::traffic::Traffic;
use crate::{AddressError, CallError};
use parking_lot::{Mutex, RwLock};
use proto::frontier_v1 as pb;
use tokio::sync::watch;
use tokio::time::Instant;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

/// Options of a [`Router`].
#[derive(Clone, Debug)]
pub struct RouterOptions {
    /// The cluster's suffix list: decides which site a host belongs to.
    pub suffixes: Arc<SuffixList>,
    /// How long one `offer` retries, ms.
    pub offer_deadline_ms: u64,
    /// How long one `offer` goes on with a shard that nobody leads, ms; then its items come back undelivered.
    pub offer_patience_ms: u64,
    /// Batches of one shard under way at once, all offers together, at most.
    pub concurrency: usize,
    /// First and longest pause between tries, ms.
    pub retry_pause_ms: (u64, u64),
    /// How long one process is waited for before others are asked as well, ms.
    pub attempt_ms: u64,
    /// How long a whole call takes at most, ms.
    pub call_ms: u64,
    /// How long a call looks for a leader while nobody knows one, ms.
    pub leaderless_ms: u64,
    /// Names this process in request ids; empty = a random name.
    pub origin: String,
}

impl RouterOptions {
    /// The defaults, with a suffix list.
    pub const fn new(suffixes: Arc<SuffixList>) -> Self {
        Self {
            suffixes,
            offer_deadline_ms: OFFER_DEADLINE_MS,
            offer_patience_ms: OFFER_DEADLINE_MS,
            concurrency: OFFER_CONCURRENCY,
            retry_pause_ms: RETRY_PAUSE_MS,
            attempt_ms: ATTEMPT_MS,
            call_ms: CALL_MS,
            leaderless_ms: LEADERLESS_MS,
            origin: String::new(),
        }
    }
}

/// Why a router was not made, or its map not refreshed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// No frontier was given.
    #[error("no frontier to talk to")]
    NoPeers,
    /// An address is none.
    #[error("{0}")]
    Address(String),
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

impl From<AddressError> for RouterError {
    fn from(error: AddressError) -> Self {
        Self::Address(error.to_string())
    }
}

/// Routes calls and items over the frontiers of one cluster. Holds the shard map and refreshes it when an answer shows
/// that it is behind.
pub struct Router {
    pub(crate) options: RouterOptions,
    pub(crate) peers: Peers,
    pub(crate) ids: RequestIds,
    pub(crate) traffic: Arc<Traffic>,
    table: RwLock<Arc<ShardTable>>,
    states: ShardStates,
    refreshing: tokio::sync::Mutex<()>,
    /// Version of the table; for those who follow it.
    version: watch::Sender<u64>,
    /// Somebody reads the map because an answer showed a newer one.
    is_catching_up: AtomicBool,
    /// When the map may be read again because replicas do not help.
    next_look_up: Mutex<Option<Instant>>,
}

impl Router {
    /// Reads the shard map of the first frontier that answers and checks the cluster's identity.
    ///
    /// # Errors
    ///
    /// Nobody answered, or the identity is not ours.
    pub async fn connect(peers: Vec<Peer>, options: RouterOptions) -> Result<Self, RouterError> {
        let router = Self::new(peers, options);
        router.refresh().await?;
        Ok(router)
    }

    /// The same for processes at `host:port`. Those that do not answer are skipped, and asked again later; further ones
    /// are learnt from the shard map and from leader hints.
    ///
    /// # Errors
    ///
    /// An address is malformed, nobody answered, or the identity is not ours.
    pub async fn connect_addresses(
        addresses: Vec<String>,
        options: RouterOptions,
    ) -> Result<Self, RouterError> {
        let router = Self::new(Vec::new(), options);
        for address in &addresses {
            router.add_address(address)?;
        }
        router.refresh().await?;
        Ok(router)
    }

    fn new(peers: Vec<Peer>, options: RouterOptions) -> Self {
        let traffic = Arc::new(Traffic::default());
        Self {
            peers: Peers::new(peers, Arc::clone(&traffic)),
            ids: RequestIds::new(&options.origin),
            options,
            traffic,
            table: RwLock::default(),
            states: ShardStates::default(),
            refreshing: tokio::sync::Mutex::new(()),
            version: watch::Sender::new(0),
            is_catching_up: AtomicBool::new(false),
            next_look_up: Mutex::default(),
        }
    }

    /// Adds a frontier process to those that are asked. One that is known already is not added twice.
    ///
    /// # Errors
    ///
    /// The address is malformed, or there are too many.
    pub fn add_address(&self, address: &str) -> Result<(), RouterError> {
        self.peers
            .add(address, false)
            .map(|_| ())
            .map_err(|why| RouterError::Address(format!("frontier address {address:?}: {why}")))
    }

    /// The addresses of all frontier processes that are known.
    pub fn addresses(&self) -> Vec<String> {
        let peers = self.peers.all();
        peers.iter().map(|peer| peer.address.clone()).collect()
    }

    /// Calls and bytes on the wire so far.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Reads the shard map again, until a process answers with one not older than ours; what others say is put together with
    /// what is known. Calls at the same moment share one reading.
    ///
    /// # Errors
    ///
    /// As for [`Router::connect`]; the old map stays in use.
    pub async fn refresh(&self) -> Result<(), RouterError> {
        self.read_again(0).await
    }

    /// The same when an answer showed that the map is behind: until a process has a newer one. Where nobody has, everybody has
    /// been asked: one that is as new as ours may have other changes in it.
    ///
    /// # Errors
    ///
    /// As for [`Router::connect`]; the old map stays in use.
    pub async fn catch_up(&self) -> Result<(), RouterError> {
        self.read_again(1).await
    }

    /// Reads the map in the background if an answer shows that it is behind.
    pub(crate) fn heard_of(self: &Arc<Self>, map_version: u64) {
        if map_version <= self.map_version() || self.is_catching_up.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = this.catch_up().await {
                tracing::warn!(%error, "cannot refresh the shard map");
            }
            this.is_catching_up.store(false, Ordering::Release);
        });
    }

    /// Reads the map of the first process whose is newer by at least `step`.
    async fn read_again(&self, step: u64) -> Result<(), RouterError> {
        let before = Arc::clone(&self.table.read());
        let _one_at_a_time = self.refreshing.lock().await;
        if !Arc::ptr_eq(&before, &self.table.read()) {
            return Ok(());
        }
        let wanted = before.version.saturating_add(step);
        let mut end = Err(RouterError::NoPeers);
        for peer in self.peers.by_health() {
            match self.read_map(&peer).await {
                Ok(response) => {
                    let is_wanted = response.version >= wanted;
                    self.take(response)?;
                    if is_wanted {
                        return Ok(());
                    }
                    // Something may have been in it; perhaps the next one knows more.
                    end = Ok(());
                }
                Err(error) if end.is_err() => end = Err(RouterError::Unreachable(error)),
                Err(_) => {}
            }
        }
        end
    }

    async fn read_map(&self, peer: &Known) -> Result<pb::ShardMapResponse, CallError> {
        self.traffic.map_read();
        self.in_time(peer, peer.frontier.shard_map(pb::ShardMapRequest {}))
            .await
    }

    /// Waits for a process no longer than for one try.
    async fn in_time<R>(
        &self,
        peer: &Known,
        call: impl Future<Output = Result<R, CallError>>,
    ) -> Result<R, CallError> {
        let patience_ms = match peer.health.suspect_until() {
            Some(_) => SUSPECT_ATTEMPT_MS.min(self.options.attempt_ms),
            None => self.options.attempt_ms,
        };
        match tokio::time::timeout(Duration::from_millis(patience_ms), call).await {
            Ok(result) => result,
            Err(_) => {
                peer.health.failed();
                let reason = format!("{}: no answer in {patience_ms} ms", peer.name());
                Err(CallError::Unavailable {
                    reason,
                    retry_after_ms: 0,
                })
            }
        }
    }

    fn take(&self, response: pb::ShardMapResponse) -> Result<(), RouterError> {
        let told = ShardTable::new(response)?;
        check_identity(&told.identity, &self.options.suffixes)?;
        let table = {
            let mut current = self.table.write();
            *current = Arc::new(current.with(told));
            let version = current.version;
            self.version
                .send_if_modified(|known| std::mem::replace(known, version) != version);
            Arc::clone(&current)
        };
        self.states.keep(|shard| table.entry(shard).is_some());
        self.follow_nodes(&table);
        for entry in table.entries() {
            if let Some(leader) = self.peers.at(&entry.leader_address)
                && leader.health.suspect_until().is_none()
            {
                self.shard_state(entry.shard).said_to_be_led_by(&leader);
            }
        }
        Ok(())
    }

    /// Knows all nodes of the map; where the map says who takes part, no others but those that were given.
    fn follow_nodes(&self, table: &ShardTable) {
        if table.nodes.is_empty() {
            return;
        }
        for address in &table.nodes {
            self.peers.at(address);
        }
        self.peers.keep_learnt(|address| table.names(address));
    }

    /// Those who may have a shard, best asked first: its replicas by the map, or everybody where the map does not say.
    pub(crate) fn replicas(&self, shard: u64) -> Vec<Arc<Known>> {
        let table = self.table();
        let replicas = table.replicas(shard).iter();
        let replicas: Vec<_> = replicas
            .filter_map(|address| self.peers.at(address))
            .collect();
        if replicas.is_empty() {
            return self.peers.by_health();
        }
        by_health(replicas)
    }

    /// Whether the map may be read again because a shard's replicas do not help: now and then, all shards together.
    pub(crate) fn may_look_up(&self, now: Instant) -> bool {
        let mut next = self.next_look_up.lock();
        let is_free = next.is_none_or(|next| next <= now);
        if is_free {
            *next = Some(now + Duration::from_millis(LOOK_UP_PAUSE_MS));
        }
        is_free
    }

    pub(crate) fn shard_state(&self, shard: u64) -> Arc<ShardState> {
        let is_in_map = self.table().entry(shard).is_some();
        self.states.of(shard, is_in_map, self.options.concurrency)
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

    /// Returns when a map that is newer than `version` is in use.
    pub async fn newer_than(&self, version: u64) {
        let mut versions = self.version.subscribe();
        // The sender is this router's own.
        let _ = versions.wait_for(|now| *now > version).await;
    }

    /// The shard that owns a partition hash by a newer map, after `shard` has said that it does not; none if that map is not to
    /// be had yet.
    pub(crate) async fn moved_from(&self, shard: u64, partition: u64) -> Option<u64> {
        if self.owner(partition) == Some(shard)
            && let Err(error) = self.catch_up().await
        {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
        self.owner(partition).filter(|owner| *owner != shard)
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
        for peer in self.peers.by_health() {
            match self
                .in_time(&peer, peer.frontier.nodes(pb::NodesRequest {}))
                .await
            {
                Ok(response) => return Ok(response),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(crate) fn table(&self) -> Arc<ShardTable> {
        Arc::clone(&self.table.read())
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
