//! A node from its listeners to its clean stop.

use std::io::Write;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use client::{GrpcFrontier, Peer};
use page_store::{PageStore, StoreOptions};
use raft_net::{NetOptions, NetTransport};
use raftlog::{Engine, EngineOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::membership::member;
use super::servers::{Served, serve, serve_handshake};
use super::settings::{Settings, SettingsError};
use super::test_clocks::TestClocks;
use crate::clock::Clocks;
use crate::cluster::{
    AgreedWall, BookError, BootstrapError, GossipEnd, Greeter, Member, NodesService, SampledWall,
    ask_before_opening, bootstrap, gossip, node_number, replica_id, store_id, take_over,
};
use crate::grpc::{ServeError, check_address};
use crate::identity::{Descriptor, IdentityError};
use crate::limits::{DEFAULT_MIN_FREE_BYTES, HAND_OVER_MS, HANDSHAKE_STOP_MS};
use crate::map::MapOptions;
use crate::node::{FrontierNode, NodeError};
use crate::options::NodeOptions;

/// Why the program ended.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The runtime, a signal handler or a thread could not be started.
    #[error("cannot start: {0}")]
    Start(String),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        reason: String,
    },
    /// The suffix list is not one.
    #[error("suffix_list: {0}")]
    SuffixList(String),
    /// The directory.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// What the directory says of other nodes.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The cluster did not take it.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The frontier did not open.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The page store did not open.
    #[error("page store: {0}")]
    Pages(String),
    /// A server ended.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Its place was given away, or it left.
    #[error(transparent)]
    Replaced(#[from] GossipEnd),
}

impl ProcessError {
    /// Whether this directory never takes part again, so that starting it once more is of no use.
    pub const fn is_for_good(&self) -> bool {
        matches!(
            self,
            Self::Replaced(_) | Self::Bootstrap(BootstrapError::Replaced(_))
        )
    }
}

/// Runs a node until SIGTERM or SIGINT.
///
/// # Errors
///
/// See [`ProcessError`].
pub async fn run(settings: Settings) -> Result<(), ProcessError> {
    let stop = stop_signal()?;
    let grpc = listen(settings.listen(), settings.allow_non_loopback)?;
    let http = listen(settings.http_listen(), settings.allow_non_loopback)?;
    let greeter = Arc::new(Greeter::default());
    let Some(member) = member(&settings, &grpc, &greeter, &stop).await? else {
        return Ok(());
    };
    let opened = Arc::new(OnceLock::new());
    let nodes = NodesService::new(Arc::clone(&member), Arc::clone(&opened));
    let Some(descriptor) = join(&member, &greeter, &grpc, &nodes, &stop).await? else {
        return Ok(());
    };
    let parts = open(&settings, &member, &greeter, &descriptor).await?;
    let _ = opened.set(Arc::clone(&parts.node));
    let serving = CancellationToken::new();
    let served = Served {
        node: Arc::clone(&parts.node),
        nodes,
        raft: raft_net::service_until(
            Arc::clone(&parts.engine),
            descriptor.replica,
            descriptor.cluster_id,
            Arc::clone(&parts.clocks) as Arc<dyn raft_net::WallClock>,
            serving.clone(),
        ),
        pages: parts
            .pages
            .clone()
            .map(|store| (store, store_id(descriptor.replica))),
    };
    add_figures(&parts);
    let (grpc_address, http_address) = (local(&grpc)?, local(&http)?);
    let mut grpc_server = tokio::spawn(serve(served, to_tokio(grpc)?, serving.clone()));
    let mut http_server = {
        let (node, http) = (Arc::clone(&parts.node), to_tokio(http)?);
        let allow = settings.allow_non_loopback;
        tokio::spawn(async move { node.serve_http(http, allow).await })
    };
    let refused = parts.transport.refused();
    let elections = tokio::spawn(take_over(Arc::clone(&parts.node), refused));
    announce(&descriptor, grpc_address, http_address);
    let ended = tokio::select! {
        () = stop.cancelled() => Ok(()),
        end = gossip(Arc::clone(&member), greeter) => Err(end.into()),
        end = &mut grpc_server => Err(server_end(end)),
        end = &mut http_server => Err(server_end(end)),
    };
    elections.abort();
    close(parts, serving).await;
    ended
}

/// What a running node is made of.
struct Parts {
    node: Arc<FrontierNode>,
    engine: Arc<OnceLock<Arc<Engine>>>,
    transport: Arc<NetTransport>,
    clocks: Arc<OwnClocks>,
    pages: Option<Arc<PageStore>>,
}

/// This node's own clocks, as Raft's links tell them to others.
struct OwnClocks(TestClocks);

impl raft_net::WallClock for OwnClocks {
    fn wall_unix_ms(&self) -> u64 {
        self.0.wall_unix_ms()
    }
}

/// Becomes one that may open its groups; `None`: told to stop meanwhile.
async fn join(
    member: &Arc<Member>,
    greeter: &Greeter,
    grpc: &StdListener,
    nodes: &NodesService,
    stop: &CancellationToken,
) -> Result<Option<Descriptor>, ProcessError> {
    let start = |error: std::io::Error| ProcessError::Start(error.to_string());
    let (handshake_over, clone) = (CancellationToken::new(), grpc.try_clone().map_err(start)?);
    let server = tokio::spawn(serve_handshake(
        to_tokio(clone)?,
        nodes.clone(),
        handshake_over.clone(),
    ));
    let descriptor = tokio::select! {
        () = stop.cancelled() => None,
        joined = admitted(member, greeter) => Some(joined?),
    };
    handshake_over.cancel();
    let abort = server.abort_handle();
    let patience = Duration::from_millis(HANDSHAKE_STOP_MS);
    if tokio::time::timeout(patience, server).await.is_err() {
        abort.abort();
    }
    Ok(descriptor)
}

/// The descriptor of a directory that may open its groups, as far as anybody who answers can tell.
async fn admitted(member: &Arc<Member>, greeter: &Greeter) -> Result<Descriptor, BootstrapError> {
    match member.descriptor().filter(|d| d.admitted) {
        Some(descriptor) => {
            ask_before_opening(member, greeter).await?;
            Ok(descriptor)
        }
        None => bootstrap(member, greeter).await,
    }
}

async fn open(
    settings: &Settings,
    member: &Arc<Member>,
    greeter: &Arc<Greeter>,
    descriptor: &Descriptor,
) -> Result<Parts, ProcessError> {
    let own = TestClocks::new(
        settings.test_wall_offset.unwrap_or(0),
        settings.test_clock_rate.unwrap_or(0),
    )
    .with_jump(settings.test_clock_jump.unwrap_or(0));
    let clocks = Arc::new(OwnClocks(own));
    let transport = NetTransport::new(
        NetOptions::new(descriptor.replica, descriptor.cluster_id),
        Arc::clone(member) as Arc<dyn raft_net::AddressBook>,
        Arc::clone(&clocks) as Arc<dyn raft_net::WallClock>,
    );
    let links = Arc::downgrade(&transport);
    let _ = member.links.set(Box::new(move |replica| {
        links.upgrade().is_some_and(|t| t.has_link(replica))
    }));
    let pages = if member.has_store {
        Some(open_pages(&member.dir, settings.min_free_bytes).await?)
    } else {
        None
    };
    let mut options = options(settings, member, descriptor, own, &transport);
    let linked = Arc::clone(member);
    let is_linked = Arc::new(move |replica| linked.is_linked(replica));
    options.map = Some(MapOptions {
        rules: settings.rules(),
        ..MapOptions::new(Arc::clone(greeter), member, is_linked)
    });
    let node = FrontierNode::open(options).await?;
    let engine = Arc::new(OnceLock::new());
    let _ = engine.set(node.engine());
    Ok(Parts {
        node: Arc::new(node),
        engine,
        transport,
        clocks,
        pages,
    })
}

fn options(
    settings: &Settings,
    member: &Member,
    descriptor: &Descriptor,
    own: TestClocks,
    transport: &Arc<NetTransport>,
) -> NodeOptions {
    let dir = member.dir.clone();
    let founders = descriptor.founders.iter();
    let voters = founders.map(|node| replica_id(*node, 0)).collect();
    let samples = Arc::clone(transport);
    let mut engine = EngineOptions::new(dir.clone(), descriptor.replica);
    engine.monotonic = Arc::new(move || own.now());
    if let Some(size_bytes) = settings.block_cache_size_bytes {
        engine.block_cache_size_bytes = size_bytes;
    }
    engine.min_free_bytes = settings.min_free_bytes.unwrap_or(DEFAULT_MIN_FREE_BYTES);
    let mut options = NodeOptions::new(dir, descriptor.shards.len() as u64);
    if let Some(urls) = settings.expected_urls {
        options.expected_urls = urls;
    }
    NodeOptions {
        node_id: descriptor.replica,
        voters,
        suffixes: Arc::clone(&member.suffixes),
        fingerprint_key: Some(descriptor.key),
        transport: Arc::clone(transport) as Arc<dyn raftlog::Transport>,
        book: Arc::clone(&member.book),
        peers: peers(member),
        clocks: Arc::new(AgreedWall::new(own, move || walls(&samples))),
        engine,
        ..options
    }
}

/// The other nodes' frontiers: undelivered items go to their owners' leaders.
fn peers(member: &Member) -> Vec<Peer> {
    let others = member.others().into_iter();
    others
        .filter_map(|(_, address)| {
            let frontier = GrpcFrontier::new(&address).ok()?;
            Some(Peer {
                address,
                frontier: Arc::new(frontier),
            })
        })
        .collect()
}

fn walls(transport: &NetTransport) -> Vec<SampledWall> {
    let samples = transport.wall_samples().into_iter();
    samples
        .map(|sample| SampledWall {
            wall_unix_ms: sample.wall_unix_ms,
            age_ms: sample.age_ms,
        })
        .collect()
}

/// The page store beside the frontier. Rows name what it holds, so it may not have vanished from a directory in use.
async fn open_pages(
    dir: &Path,
    min_free_bytes: Option<u64>,
) -> Result<Arc<PageStore>, ProcessError> {
    let (pages, log) = (dir.join("pages"), dir.join("log"));
    blocking(move || {
        if log.exists() && !pages.join("store-id").exists() {
            return Err(ProcessError::Pages(format!(
                "{} is missing or damaged, but {} says what it held",
                pages.display(),
                log.display()
            )));
        }
        let mut options = StoreOptions::new(pages);
        options.min_free_bytes = min_free_bytes.unwrap_or(DEFAULT_MIN_FREE_BYTES);
        PageStore::open(options)
            .map(Arc::new)
            .map_err(|error| ProcessError::Pages(error.to_string()))
    })
    .await
}

/// One line for whoever started the node, once it takes part.
fn announce(descriptor: &Descriptor, grpc: SocketAddr, http: SocketAddr) {
    let replica = descriptor.replica;
    let node = node_number(replica);
    let mut out = std::io::stdout().lock();
    // Nobody listening is no reason to stop.
    let _ = writeln!(
        out,
        "ready node={node} replica={replica} grpc={grpc} http={http}"
    );
    let _ = out.flush();
}

/// What the links and the page store say of themselves, beside the frontier's figures.
fn add_figures(parts: &Parts) {
    let transport = Arc::clone(&parts.transport);
    parts.node.add_figures(Box::new(move || {
        let net = transport.metrics();
        vec![
            ("raft_calls_sent", net.calls.sent),
            ("raft_heartbeats_sent", net.heartbeats.sent),
            ("raft_heartbeat_batches", net.heartbeat_batches),
            ("raft_appends_sent", net.appends.sent),
            ("raft_append_bytes_sent", net.appends.sent_bytes),
            ("raft_snapshot_chunks_sent", net.snapshots.sent),
            ("raft_snapshot_bytes_sent", net.snapshots.sent_bytes),
            ("raft_dials", net.dials),
            ("raft_dials_failed", net.dials_failed),
            ("raft_deaths_seen", net.refused),
            ("raft_links_open", transport.open_links()),
        ]
    }));
    if let Some(pages) = parts.pages.clone() {
        parts.node.add_figures(Box::new(move || {
            let stats = pages.stats();
            vec![
                ("pages_stored", stats.payloads),
                ("pages_duplicate", stats.duplicates),
                ("pages_not_modified", stats.unmodified),
                ("page_segment_bytes", stats.bytes),
                ("page_fsyncs", stats.fsyncs),
            ]
        }));
    }
}

async fn close(parts: Parts, serving: CancellationToken) {
    parts
        .node
        .hand_over(Duration::from_millis(HAND_OVER_MS))
        .await;
    serving.cancel();
    parts.transport.close();
    parts.node.close().await;
    if let Some(pages) = parts.pages {
        let closed = tokio::task::spawn_blocking(move || drop(pages)).await;
        if let Err(error) = closed {
            tracing::warn!(%error, "the page store did not close");
        }
    }
}

fn listen(address: SocketAddr, allow_non_loopback: bool) -> Result<StdListener, ProcessError> {
    check_address(address, allow_non_loopback)?;
    let listener = StdListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| ProcessError::Listen {
        address,
        reason: error.to_string(),
    })
}

fn to_tokio(listener: StdListener) -> Result<TcpListener, ProcessError> {
    TcpListener::from_std(listener).map_err(|error| ProcessError::Start(error.to_string()))
}

pub(super) fn local(listener: &StdListener) -> Result<SocketAddr, ProcessError> {
    listener
        .local_addr()
        .map_err(|error| ProcessError::Start(error.to_string()))
}

/// Cancelled at SIGTERM or SIGINT; a second one ends the process at once.
fn stop_signal() -> Result<CancellationToken, ProcessError> {
    let start = |error: std::io::Error| ProcessError::Start(error.to_string());
    let mut terminate = signal(SignalKind::terminate()).map_err(start)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(start)?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if told.is_cancelled() {
                std::process::exit(1);
            }
            told.cancel();
        }
    });
    Ok(stop)
}

fn server_end(end: Result<Result<(), ServeError>, tokio::task::JoinError>) -> ProcessError {
    match end {
        Ok(Err(error)) => error.into(),
        Ok(Ok(())) => ProcessError::Start("a server ended".to_owned()),
        Err(error) => ProcessError::Start(error.to_string()),
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ProcessError> + Send + 'static,
) -> Result<T, ProcessError> {
    let done: Result<Result<T, ProcessError>, _> = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ProcessError::Start(error.to_string()))?
}
