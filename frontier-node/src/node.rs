//! A frontier node in this process: opened from a directory, used through `client::Frontier`, served over gRPC.

use std::sync::Arc;
use std::time::Duration;

use client::{Frontier, Peer, Router, RouterError, RouterOptions};
use parking_lot::RwLock;
use proto::frontier_v1 as pb;
use raftlog::{Engine, Group, GroupError, OpenError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use urlkey::CANONICALIZER_VERSION;

use crate::convert::Verifier;
use crate::errors::Hints;
use crate::grpc::{self, ServeError};
use crate::http::{self, Pages};
use crate::identity::{Descriptor, FoundingVoters, IdentityError};
use crate::known::{FilterError, KnownFilter};
use crate::limits::{BLOCKING_READS, SHUTDOWN_MS, WAITING_SIZE_BYTES};
use crate::map::{MapGroup, MapNode, MapParts, MapView};
use crate::metrics::Metrics;
use crate::options::NodeOptions;
use crate::service::{LocalFrontier, NodeShared};
use crate::shard::{ShardContext, hand_over};
use crate::shards::{Keeper, Late, Shards, open_shards};
use crate::state::LocalMap;
use crate::work::Work;

/// Why a node did not open.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The directory was made for something else, or cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The databases did not open.
    #[error(transparent)]
    Engine(#[from] OpenError),
    /// A shard did not open.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The filter could not be made.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The node could not route to itself.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// A thread that opens files ended early.
    #[error("opening was interrupted: {0}")]
    Interrupted(String),
}

/// A node: all its shards over one log.
pub struct FrontierNode {
    shared: Arc<NodeShared>,
    engine: Arc<Engine>,
    router: Arc<Router>,
    gauges: Arc<Gauges>,
    map: Option<Arc<MapNode>>,
    stop: CancellationToken,
}

impl FrontierNode {
    /// Opens the directory, making it if it is missing, and starts all shards. Returns when every shard has replayed what
    /// it had committed; reads and known URLs wait for leadership on their own.
    ///
    /// # Errors
    ///
    /// The directory is in use, damaged or made with another identity; the disk refuses.
    pub async fn open(options: NodeOptions) -> Result<Self, NodeError> {
        let NodeOptions {
            dir,
            node_id,
            shards,
            expected_urls,
            suffixes,
            fingerprint_key,
            voters,
            transport,
            book,
            peers,
            clocks,
            engine,
            map,
            #[cfg(test)]
                views: told,
        } = options;
        let for_identity = Arc::clone(&suffixes);
        let work = Work::from(&engine.threads);
        let faults = engine.faults.clone();
        let (descriptor, filter, engine) = blocking(work, move || {
            raftlog::make_durable_dir(&dir).map_err(|error| IdentityError::Io {
                path: dir.clone(),
                reason: error.to_string(),
            })?;
            let mut descriptor =
                Descriptor::open(&dir, node_id, &for_identity, shards, fingerprint_key)?;
            let filter = KnownFilter::new(expected_urls)?;
            let engine = raftlog::EngineOptions {
                dir: dir.clone(),
                node_id,
                ..engine
            };
            let engine = Engine::open(engine, transport)?;
            // Both databases are there, and no group has voted yet.
            descriptor.mark_opened(&dir)?;
            Ok((descriptor, filter, engine))
        })
        .await?;
        let metrics = Arc::new(Metrics::default());
        let stop = CancellationToken::new();
        let context = ShardContext {
            replica: node_id,
            clocks,
            filter: Arc::new(filter),
            metrics: Arc::clone(&metrics),
            map: Arc::new(LocalMap::default()),
            hints: Arc::new(Hints::new(Arc::clone(&book))),
            waiting_bytes: Arc::new(Semaphore::new(WAITING_SIZE_BYTES)),
            blocking: Arc::new(Semaphore::new(BLOCKING_READS)),
            work,
            faults,
            stop: stop.clone(),
        };
        let voters = Arc::new(FoundingVoters::of(&descriptor, voters));
        let map = match map {
            Some(options) => {
                let parts = MapParts {
                    engine: Arc::clone(&engine),
                    process: node_id,
                    descriptor: descriptor.clone(),
                    voters: Arc::clone(&voters),
                    book: Arc::clone(&book),
                };
                Some(MapNode::start(parts, options, &stop).await?)
            }
            None => None,
        };
        let shared = Arc::new(NodeShared {
            shards: Shards::default(),
            verifier: Verifier::new(Arc::clone(&suffixes), descriptor.key),
            identity: pb::Identity {
                canonicalizer_version: CANONICALIZER_VERSION,
                suffix_list_digest: suffixes.digest(),
            },
            book,
            context,
        });
        let views = map.as_ref().map(|map| map.views());
        #[cfg(test)]
        let views = views.or(told);
        let late = if views.is_some() {
            Late::ByMap
        } else {
            Late::ByParent
        };
        open_shards(&engine, &shared, &descriptor, &voters, late).await?;
        let local = Peer {
            address: shared.book.address_of(node_id).unwrap_or_default(),
            frontier: Arc::new(LocalFrontier::new(Arc::clone(&shared))),
        };
        let all = std::iter::once(local).chain(peers).collect();
        let router = Arc::new(Router::connect(all, RouterOptions::new(suffixes)).await?);
        let gauges = Arc::new(Gauges {
            shared: Arc::clone(&shared),
            engine: Arc::clone(&engine),
            map: map.clone(),
            more: RwLock::default(),
        });
        let node = Self {
            shared,
            engine,
            router,
            gauges,
            map,
            stop,
        };
        node.start_tasks(views);
        Ok(node)
    }

    fn start_tasks(&self, views: Option<watch::Receiver<MapView>>) {
        let keeper = Keeper::new(
            Arc::clone(&self.engine),
            Arc::clone(&self.shared),
            Arc::clone(&self.router),
            self.map.clone(),
            views,
        );
        for shard in self.shared.shards.all() {
            keeper.start(shard);
        }
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(keeper.run()));
    }

    /// The frontier of this process.
    pub fn frontier(&self) -> Arc<dyn Frontier> {
        Arc::new(LocalFrontier::new(Arc::clone(&self.shared)))
    }

    /// A router over this node.
    pub fn router(&self) -> Arc<Router> {
        Arc::clone(&self.router)
    }

    /// Adds counters of what runs beside the frontier to the node's metrics.
    pub fn add_figures(&self, figures: Figures) {
        self.gauges.more.write().push(figures);
    }

    /// The node's counters.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.shared.context.metrics)
    }

    /// Whether the filter of known URLs is complete for every shard.
    pub fn filter_is_complete(&self) -> bool {
        let shards = self.shared.shards.ids();
        let filter = &self.shared.context.filter;
        shards.into_iter().all(|shard| filter.is_valid(shard))
    }

    /// The groups of all shards, and group 0 where the node has a replica of it.
    pub fn groups(&self) -> Vec<Group> {
        let shards = self.shared.shards.all().into_iter();
        let shards = shards.map(|shard| shard.group().clone());
        let zero = self.map.as_ref().and_then(|map| map.zero());
        let zero = zero.map(|zero| zero.group().clone());
        shards.chain(zero).collect()
    }

    /// The shard map, unless the node is alone in its process.
    pub(crate) const fn map(&self) -> Option<&Arc<MapNode>> {
        self.map.as_ref()
    }

    /// Hands every leadership to the voter that has most, so that a stop costs no election timeout; waits at most
    /// `longest`.
    pub async fn hand_over(&self, longest: Duration) {
        let led = self.groups().into_iter().filter(|g| g.status().is_leader);
        let all = futures::future::join_all(led.map(hand_over));
        if tokio::time::timeout(longest, all).await.is_err() {
            tracing::info!("not every leadership was handed over in time");
        }
    }

    /// Waits until every shard of this node is led by it and has proven so, at most `longest`. True when it is.
    pub async fn wait_until_leading(&self, longest: Duration) -> bool {
        let all_led = async {
            while self
                .shared
                .shards
                .all()
                .iter()
                .any(|shard| shard.proven_term().is_none())
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(longest, all_led).await.is_ok()
    }

    /// Serves `frontier.v1` on a listener until the node closes.
    ///
    /// # Errors
    ///
    /// The address is beyond loopback and that is not allowed, or the transport fails.
    pub async fn serve_grpc(
        &self,
        listener: TcpListener,
        allow_non_loopback: bool,
    ) -> Result<(), ServeError> {
        grpc::serve(
            self.frontier(),
            listener,
            allow_non_loopback,
            self.stop.clone(),
        )
        .await
    }

    /// Serves metrics and the status page on a listener until the node closes.
    ///
    /// # Errors
    ///
    /// As for [`FrontierNode::serve_grpc`].
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        allow_non_loopback: bool,
    ) -> Result<(), ServeError> {
        let pages = Pages {
            frontier: self.frontier(),
            gauges: Arc::clone(&self.gauges),
        };
        http::serve(pages, listener, allow_non_loopback, self.stop.clone()).await
    }

    /// Stops all tasks, flushes and closes the databases. What was acknowledged is durable with or without it.
    pub async fn close(&self) {
        self.stop.cancel();
        if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS), self.engine.close())
            .await
            .is_err()
        {
            tracing::warn!("the log did not close in time");
        }
    }

    pub(crate) fn shared_node(&self) -> &NodeShared {
        &self.shared
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<NodeShared> {
        &self.shared
    }

    /// The log of this node: what other replicas send is handed to it.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }
}

impl Drop for FrontierNode {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Figures that are read when somebody asks for them.
pub(crate) struct Gauges {
    shared: Arc<NodeShared>,
    engine: Arc<Engine>,
    map: Option<Arc<MapNode>>,
    more: RwLock<Vec<Figures>>,
}

/// Counters of what runs beside the frontier in the same process, by name.
pub type Figures = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

/// How many entries the slowest voter lacks, as its leader knows.
fn slowest_lag(group: &Group, last_log_index: u64) -> u64 {
    let progress = group.progress().into_values();
    let slowest = progress
        .filter(|p| p.is_voter)
        .map(|p| p.matched_index)
        .min();
    slowest.map_or(0, |matched| last_log_index.saturating_sub(matched))
}

/// How the disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    Works,
    Full,
    Fails,
}

impl Gauges {
    pub(crate) fn disk(&self) -> Disk {
        if self.engine.is_disk_full() {
            Disk::Full
        } else if self.engine.failure().is_some() {
            Disk::Fails
        } else {
            Disk::Works
        }
    }

    /// Reads all figures; the metrics as text.
    pub(crate) async fn refresh(&self) -> String {
        let metrics = &self.shared.context.metrics;
        metrics.log(&self.engine.metrics());
        let disk = self.disk();
        metrics.node("disk_full", (disk == Disk::Full).into());
        metrics.node("disk_fails", (disk == Disk::Fails).into());
        if let Some(map) = &self.map {
            let leads = |zero: Arc<MapGroup>| zero.leadership().is_leader;
            metrics.node("map_version", map.view().map.version);
            metrics.node("map_leader", map.zero().is_some_and(leads).into());
        }
        for figures in self.more.read().iter() {
            for (name, count) in figures() {
                metrics.node_event(name, count);
            }
        }
        metrics.node(
            "filter_size_bytes",
            self.shared.context.filter.size_bytes() as u64,
        );
        for shard in self.shared.shards.all() {
            let id = &shard.id();
            let group = shard.group().status();
            metrics.shard(*id, "leader", group.is_leader.into());
            metrics.shard(*id, "applied_index", group.applied_index);
            metrics.shard(
                *id,
                "apply_lag_entries",
                group.committed_index.saturating_sub(group.applied_index),
            );
            metrics.shard(*id, "term", group.term);
            metrics.shard(*id, "voters", group.voters.len() as u64);
            if group.is_leader {
                metrics.shard(
                    *id,
                    "slowest_voter_lag_entries",
                    slowest_lag(shard.group(), group.last_log_index),
                );
            } else {
                metrics.forget_shard(*id, "slowest_voter_lag_entries");
            }
            metrics.shard(*id, "log_size_bytes", group.log_size_bytes);
            metrics.shard(*id, "parked_polls", shard.parking().len() as u64);
            metrics.shard(
                *id,
                "filter_complete",
                self.shared.context.filter.is_valid(*id).into(),
            );
            let Ok(status) = shard.look(|machine, _, _| machine.status()).await else {
                continue;
            };
            let terms = status.terms;
            let figures = [
                ("accepted", terms.accepted),
                ("queued", terms.queued),
                ("scheduled", terms.scheduled),
                ("leased", terms.leased),
                ("done", terms.done),
                ("removed", terms.removed),
                ("refused", terms.refused),
                ("active_hosts", status.active_hosts),
                ("outbox_waiting", status.outbox.waiting),
                ("robots_waiting", status.robots_waiting),
                ("sessions", status.sessions),
            ];
            figures
                .into_iter()
                .for_each(|(name, value)| metrics.shard(*id, name, value));
            status
                .counters
                .into_iter()
                .for_each(|(name, count)| metrics.shard_event(*id, name, count));
        }
        metrics.keep_shards(&self.shared.shards.ids());
        metrics.text()
    }

    /// The shards that this node has, or is about to open.
    pub(crate) fn shards(&self) -> Vec<u64> {
        self.shared.context.map.own()
    }
}

async fn blocking<T: Send + 'static>(
    place: Work,
    work: impl FnOnce() -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    place
        .run(work)
        .await
        .map_err(|error| NodeError::Interrupted(error.to_string()))?
}
