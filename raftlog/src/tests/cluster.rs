//! Several nodes of one group in this process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::counter_machine::Seen;
use super::support::{leads, open_group, until};
use crate::testing::LocalNetwork;
use crate::{Engine, EngineOptions, Group, GroupConfig, LeadershipToken, RowBatch};

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
    engine
        .create_replica(7, engine.options().node_id)
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
