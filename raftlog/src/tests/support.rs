//! Set-up that the tests share, and a model of a power cut.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use super::counter_machine::{Seen, factory, parse, row_key};
use crate::testing::LocalNetwork;
use crate::{
    DiskStep, Engine, EngineOptions, FaultHook, Group, GroupConfig, GroupId, LeadershipToken,
    NoTransport, ProposeError, RaftTiming, Reply, RowBatch,
};

/// Bound on every wait: reached only by a test that fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Lets the process end without static destructors. Tests of crashes leave databases open on purpose, and RocksDB's threads
/// abort the process when its statics are destroyed under them. Registered anew by each test, so that it runs first.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
fn end_without_destructors() {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        fn _exit(status: c_int) -> !;
    }
    extern "C" fn leave(status: c_int, _argument: *mut c_void) {
        // SAFETY: ends the process with the status it was about to end with.
        unsafe { _exit(status) }
    }
    // SAFETY: the handler is a plain function that outlives the process.
    let registered = unsafe { on_exit(leave, std::ptr::null_mut()) };
    assert_eq!(registered, 0);
}

#[cfg(not(target_env = "gnu"))]
fn end_without_destructors() {}

/// Options for tests: short elections, quick recovery.
pub(super) fn options(dir: &Path, node_id: u64) -> EngineOptions {
    end_without_destructors();
    let timing = RaftTiming {
        heartbeat_ms: 100,
        election_min_ms: 400,
        election_max_ms: 800,
    };
    let mut options = EngineOptions {
        timing,
        recover_interval_ms: 20,
        ..EngineOptions::new(dir, node_id)
    };
    options.memtable_size_bytes = 4 * 1024 * 1024;
    options.min_free_bytes = 0;
    options
}

pub(super) fn open(options: EngineOptions) -> Arc<Engine> {
    Engine::open(options, Arc::new(NoTransport)).unwrap()
}

/// Creates and opens a group of one replica whose rows begin with the group's id.
pub(super) async fn sole_group(engine: &Arc<Engine>, group_id: GroupId, seen: &Arc<Seen>) -> Group {
    let members = BTreeSet::from([engine.options().node_id]);
    engine
        .create_group(GroupConfig {
            group_id,
            members,
            initial_rows: RowBatch::new(),
        })
        .await
        .unwrap();
    open_group(engine, group_id, seen).await
}

pub(super) async fn open_group(engine: &Arc<Engine>, group_id: GroupId, seen: &Arc<Seen>) -> Group {
    let factory = factory(engine.state(), group_id as u8, Arc::clone(seen));
    engine.open_group(group_id, factory).await.unwrap()
}

/// Waits until this replica leads.
pub(super) async fn leads(group: &Group) -> LeadershipToken {
    let mut leadership = group.leadership();
    let led = leadership.wait_for(|known| known.is_leader);
    let led = tokio::time::timeout(PATIENCE, led)
        .await
        .expect("no leader in time")
        .unwrap();
    led.token().unwrap()
}

/// Proposes until it is taken, as a client would.
pub(super) async fn propose(group: &Group, payload: &str) -> Reply {
    let proposing = async {
        loop {
            let token = leads(group).await;
            match group
                .propose(token, Bytes::copy_from_slice(payload.as_bytes()))
                .await
            {
                Err(ProposeError::NotLeader { .. }) => {
                    tokio::time::sleep(Duration::from_millis(5)).await
                }
                outcome => return outcome.unwrap(),
            }
        }
    };
    tokio::time::timeout(PATIENCE, proposing)
        .await
        .expect("not proposed in time")
}

/// How often a key was applied, by its row.
pub(super) fn count(engine: &Engine, group_id: GroupId, key: &str) -> u64 {
    let value = engine
        .state()
        .get(&row_key(group_id as u8, key.as_bytes()))
        .unwrap();
    value.map_or(0, |value| parse(&value).0)
}

/// Waits until a condition holds.
pub(super) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// A fault hook made of a closure.
pub(super) struct Hook<F>(pub(super) F);

impl<F: Fn(DiskStep) -> std::io::Result<()> + Send + Sync + 'static> FaultHook for Hook<F> {
    fn before(&self, step: DiskStep) -> std::io::Result<()> {
        (self.0)(step)
    }
}

/// What a power cut would leave: files as they were when last synced. The log's newest file is cut back to the bytes
/// that its last finished fsync covered; the state has only tables, which are synced when they are made.
#[derive(Default)]
pub(super) struct PowerCut {
    /// Sizes of the log's files when the last sync began: all of that is durable once it has ended.
    synced: Mutex<Vec<(PathBuf, u64)>>,
    pending: Mutex<Vec<(PathBuf, u64)>>,
}

impl PowerCut {
    fn sizes(dir: &Path) -> Vec<(PathBuf, u64)> {
        let entries = std::fs::read_dir(dir.join("log"))
            .into_iter()
            .flatten()
            .flatten();
        let logs = entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "log"));
        logs.map(|entry| (entry.path(), entry.metadata().map_or(0, |meta| meta.len())))
            .collect()
    }

    /// To be called before each step: when the next write begins, the sync before it has ended.
    pub(super) fn before(&self, dir: &Path, step: DiskStep) {
        match step {
            DiskStep::LogWrite => *self.synced.lock() = self.pending.lock().clone(),
            DiskStep::LogSync => *self.pending.lock() = Self::sizes(dir),
            _ => {}
        }
    }

    /// Everything queued so far has been acknowledged, so the last sync has ended.
    pub(super) fn settle(&self) {
        *self.synced.lock() = self.pending.lock().clone();
    }

    /// Copies an engine's directory as a power cut now would leave it. A copy that raced with a flush or a compaction
    /// is no moment of the disk's life, and is made again.
    pub(super) fn cut(&self, from: &Path, to: &Path) {
        loop {
            let before = Self::list(from);
            for part in ["log", "state"] {
                let _new = std::fs::remove_dir_all(to.join(part));
                std::fs::create_dir_all(to.join(part)).unwrap();
            }
            let copied = before.iter().all(|(path, _)| {
                let copy = to.join(path.strip_prefix(from).unwrap());
                std::fs::copy(path, copy).is_ok()
            });
            if copied && Self::list(from) == before {
                break;
            }
        }
        for (path, size_bytes) in self.synced.lock().iter() {
            let copy = to.join("log").join(path.file_name().unwrap());
            std::fs::OpenOptions::new()
                .write(true)
                .open(copy)
                .unwrap()
                .set_len(*size_bytes)
                .unwrap();
        }
    }

    fn list(dir: &Path) -> Vec<(PathBuf, u64)> {
        let parts = ["log", "state"].map(|part| std::fs::read_dir(dir.join(part)).unwrap());
        let entries = parts.into_iter().flatten().flatten();
        let kept =
            entries.filter(|entry| entry.file_name() != "LOCK" && !is_info_log(&entry.path()));
        let mut list: Vec<_> = kept
            .map(|entry| (entry.path(), entry.metadata().map_or(0, |meta| meta.len())))
            .collect();
        list.sort();
        list
    }
}

fn is_info_log(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("LOG"))
}

/// Copies the files of a directory.
pub(super) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// One node of a cluster in this process.
pub(super) struct Node {
    pub(super) engine: Arc<Engine>,
    pub(super) group: Group,
    pub(super) seen: Arc<Seen>,
}

/// Starts a node of a group of three that has no rows at first.
pub(super) async fn start_node(network: &LocalNetwork, options: EngineOptions) -> Node {
    start_node_with(network, options, RowBatch::new()).await
}

/// Starts a node of a group of three.
pub(super) async fn start_node_with(
    network: &LocalNetwork,
    options: EngineOptions,
    initial_rows: RowBatch,
) -> Node {
    let engine = Engine::open(options.clone(), network.transport(options.node_id)).unwrap();
    network.attach(&engine);
    let members = BTreeSet::from([1, 2, 3]);
    engine
        .create_group(GroupConfig {
            group_id: 7,
            members,
            initial_rows,
        })
        .await
        .unwrap();
    let seen = Arc::default();
    let group = open_group(&engine, 7, &seen).await;
    Node {
        engine,
        group,
        seen,
    }
}

/// Starts a node that joins a group of others.
pub(super) async fn join_node(network: &LocalNetwork, options: EngineOptions) -> Node {
    let engine = Engine::open(options.clone(), network.transport(options.node_id)).unwrap();
    network.attach(&engine);
    engine.create_replica(7).await.unwrap();
    let seen = Arc::default();
    let group = open_group(&engine, 7, &seen).await;
    Node {
        engine,
        group,
        seen,
    }
}

/// Three nodes of one group, with options made of directory and id.
pub(super) async fn cluster_of(
    network: &LocalNetwork,
    dirs: &[tempfile::TempDir],
    options: impl Fn(&Path, u64) -> EngineOptions,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (place, dir) in dirs.iter().enumerate() {
        nodes.push(start_node(network, options(dir.path(), place as u64 + 1)).await);
    }
    nodes
}

pub(super) fn temp_dirs(count: usize) -> Vec<tempfile::TempDir> {
    (0..count).map(|_| tempfile::tempdir().unwrap()).collect()
}

pub(super) async fn close_all(nodes: Vec<Node>) {
    for node in nodes {
        node.engine.close().await;
    }
}

/// Proposes so many entries of one key, many at once.
pub(super) async fn propose_many(group: &Group, key: &'static str, count: usize) {
    let token = leads(group).await;
    let mut pending = Vec::new();
    for place in 0..count {
        let payload = Bytes::from_static(key.as_bytes());
        pending.push(group.submit(token, payload).await.unwrap());
        if pending.len() == 50 || place + 1 == count {
            for reply in pending.drain(..) {
                reply.await.unwrap();
            }
        }
    }
}

/// All rows of the group's users on a node; none while its databases are closed for a moment.
pub(super) fn rows(node: &Node) -> Vec<crate::Row> {
    let range = crate::KeyRange::prefix(&[7]);
    node.engine
        .state()
        .scan(&range, 1_000_000)
        .unwrap_or_default()
}

/// The leader's place, and its token.
pub(super) async fn lead(nodes: &[Node]) -> (usize, LeadershipToken) {
    let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
    (leader, leads(&nodes[leader].group).await)
}

/// Flushes so many times, so that a purge has had its chance.
pub(super) async fn flush_again(node: &Node, times: u32) {
    for _ in 0..times {
        node.group.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Lets so many of the longest election timeouts pass.
pub(super) async fn election_timeouts(node: &Node, times: u32) {
    let longest = Duration::from_millis(node.engine.options().timing.election_max_ms);
    tokio::time::sleep(longest * times).await;
}

/// Waits until one of the nodes leads and the others know it; its place.
pub(super) async fn leader_of(nodes: &[&Node]) -> usize {
    let find = || {
        let leader = nodes
            .iter()
            .position(|node| node.group.status().is_leader)?;
        let status = nodes[leader].group.status();
        let agreed = nodes.iter().all(|node| {
            let seen = node.group.status();
            seen.leader == status.leader && seen.term == status.term
        });
        agreed.then_some(leader)
    };
    until("a leader", || find().is_some()).await;
    find().unwrap_or_default()
}
