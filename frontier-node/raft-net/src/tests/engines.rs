//! Nodes with whole engines, whose groups keep one row an entry.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use raftlog::{
    Applied, Committed, Engine, EngineOptions, Group, GroupConfig, GroupId, KeyRange, MachineError,
    NodeId, ProposeError, RaftTiming, RowBatch, StateMachine,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::support::{Book, CLUSTER, Serving, StoppedClock, soon, transport, until};
use crate::{NetTransport, service_until};

/// An entry is the key of a row that holds the entry's index.
struct RowMachine(u8);

impl StateMachine for RowMachine {
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        let mut rows = RowBatch::new();
        let mut replies = Vec::new();
        for entry in entries {
            let key = [&[self.0], entry.payload.as_ref()].concat();
            rows.put(key, entry.index.to_be_bytes().to_vec());
            replies.push(Bytes::new());
        }
        Ok(Applied {
            rows,
            replies,
            founded: Vec::new(),
        })
    }

    fn committed(&mut self) {}

    fn restored(&mut self) -> Result<(), MachineError> {
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        vec![KeyRange::prefix(&[self.0])]
    }
}

/// Options for tests: short logs, quick flushes.
fn options(dir: &Path, me: NodeId) -> EngineOptions {
    let mut options = EngineOptions::new(dir, me);
    options.timing = RaftTiming {
        heartbeat_ms: 100,
        election_min_ms: 500,
        election_max_ms: 1000,
    };
    options.memtable_size_bytes = 4 * 1024 * 1024;
    options.min_free_bytes = 0;
    options
}

/// A node over real sockets.
pub(super) struct Node {
    pub(super) me: NodeId,
    pub(super) engine: Arc<Engine>,
    pub(super) groups: Vec<Group>,
    pub(super) transport: Arc<NetTransport>,
    pub(super) serving: Serving,
    pub(super) address: SocketAddr,
}

/// How a node is started.
pub(super) struct Start<'a> {
    pub(super) me: NodeId,
    pub(super) dir: &'a Path,
    pub(super) listener: TcpListener,
    pub(super) book: Arc<Book>,
    pub(super) groups: u64,
    /// Keep a short log, so that who misses entries needs a snapshot.
    pub(super) purging: bool,
}

impl Node {
    /// Starts a node whose groups, 1 to `groups`, are founded by replicas 1, 2 and 3.
    pub(super) async fn start(start: Start<'_>) -> Self {
        let transport = transport(start.me, start.book);
        let mut options = options(start.dir, start.me);
        if start.purging {
            options.flush_interval_ms = 50;
            options.log_keep_entries = 5;
        }
        let engine = Engine::open(options, Arc::clone(&transport) as _).unwrap();
        let address = start.listener.local_addr().unwrap();
        let cell = Arc::new(OnceLock::from(Arc::clone(&engine)));
        let stop = CancellationToken::new();
        let wall = Arc::new(StoppedClock(start.me * 1_000_000));
        let service = service_until(cell, start.me, CLUSTER, wall, stop.clone());
        let serving = Serving::start(start.listener, service, stop);
        let mut groups = Vec::new();
        for group_id in 1..=start.groups {
            groups.push(open_group(&engine, group_id).await);
        }
        Self {
            me: start.me,
            engine,
            groups,
            transport,
            serving,
            address,
        }
    }

    /// Stops all of it, in the order of a program that ends.
    pub(super) async fn stop(self) {
        self.serving.stop().await;
        self.engine.close().await;
        self.transport.close();
        soon("the transport has closed", self.transport.closed()).await;
    }

    /// Rows of a group.
    pub(super) fn rows(&self, group_id: GroupId) -> Vec<(Vec<u8>, Vec<u8>)> {
        let range = KeyRange::prefix(&[group_id as u8]);
        // Closed for a moment while the databases are opened again.
        self.engine
            .state()
            .scan(&range, 1_000_000)
            .unwrap_or_default()
    }
}

async fn open_group(engine: &Arc<Engine>, group_id: GroupId) -> Group {
    let config = GroupConfig {
        group_id,
        members: BTreeSet::from([1, 2, 3]),
        initial_rows: RowBatch::new(),
    };
    engine.create_group(config).await.unwrap();
    let prefix = group_id as u8;
    let factory = Box::new(move || Ok(Box::new(RowMachine(prefix)) as Box<dyn StateMachine>));
    engine.open_group(group_id, factory).await.unwrap()
}

/// The place of the node that leads a group, once the others know.
pub(super) async fn leader_of(nodes: &[Node], group: usize) -> usize {
    let find = || {
        let leads = |node: &Node| node.groups[group].status().is_leader;
        let leader = nodes.iter().position(leads)?;
        let status = nodes[leader].groups[group].status();
        let agreed = nodes.iter().all(|node| {
            let seen = node.groups[group].status();
            seen.leader == status.leader && seen.term == status.term
        });
        agreed.then_some(leader)
    };
    until("a leader", || find().is_some()).await;
    find().unwrap_or_default()
}

/// Proposes to whoever leads until it is taken, as a client would.
pub(super) async fn propose(nodes: &[Node], group: usize, payload: &str) {
    let proposing = async {
        loop {
            let leadership = nodes
                .iter()
                .find_map(|node| Some((node, node.groups[group].leadership().borrow().token()?)));
            if let Some((node, token)) = leadership {
                let payload = Bytes::copy_from_slice(payload.as_bytes());
                match node.groups[group].propose(token, payload).await {
                    Ok(_) => return,
                    // Said again: the machine keeps one row, however often.
                    Err(ProposeError::NotLeader { .. } | ProposeError::OutcomeUnknown(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon("it is proposed", proposing).await;
}
