//! Three nodes with whole engines over loopback.

use std::sync::Arc;

use super::engines::{Node, Start, leader_of, propose};
use super::support::{Book, listen_again, listener, soon, until};

struct Cluster {
    dirs: Vec<tempfile::TempDir>,
    book: Arc<Book>,
    nodes: Vec<Node>,
    groups: u64,
    purging: bool,
}

impl Cluster {
    async fn start(groups: u64, purging: bool) -> Self {
        let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let mut cluster = Self {
            dirs,
            book: Arc::default(),
            nodes: Vec::new(),
            groups,
            purging,
        };
        let mut listeners = Vec::new();
        for me in 1..=3 {
            let (listener, address) = listener().await;
            cluster.book.put(me, address);
            listeners.push(listener);
        }
        for (place, listener) in listeners.into_iter().enumerate() {
            let node = cluster.node(place as u64 + 1, listener).await;
            cluster.nodes.push(node);
        }
        cluster
    }

    async fn node(&self, me: u64, listener: tokio::net::TcpListener) -> Node {
        Node::start(Start {
            me,
            dir: self.dirs[me as usize - 1].path(),
            listener,
            book: Arc::clone(&self.book),
            groups: self.groups,
            purging: self.purging,
        })
        .await
    }

    async fn stop(self) {
        for node in self.nodes {
            node.stop().await;
        }
    }

    fn all_have(&self, rows: usize) -> bool {
        self.nodes.iter().all(|node| node.rows(1).len() == rows)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elect_replicate_and_catch_up_after_a_restart_on_the_same_port() {
    let mut cluster = Cluster::start(1, false).await;
    leader_of(&cluster.nodes, 0).await;
    for number in 0..50 {
        propose(&cluster.nodes, 0, &format!("first {number}")).await;
    }
    until("all have applied", || cluster.all_have(50)).await;
    let leader = leader_of(&cluster.nodes, 0).await;
    let gone = cluster.nodes.remove(leader);
    let (me, address) = (gone.me, gone.address);
    let mut deaths = cluster.nodes[0].transport.refused();
    gone.stop().await;
    assert_eq!(soon("the death is told", deaths.recv()).await, Ok(me));
    leader_of(&cluster.nodes, 0).await;
    for number in 0..50 {
        propose(&cluster.nodes, 0, &format!("second {number}")).await;
    }
    let listener = listen_again(address).await;
    let back = cluster.node(me, listener).await;
    cluster.nodes.push(back);
    until("it has caught up", || cluster.all_have(100)).await;
    let metrics = cluster.nodes[0].transport.metrics();
    assert!(metrics.redials >= 1 && metrics.refused >= 1, "{metrics:?}");
    let beats = |node: &Node| node.transport.metrics().heartbeats.received;
    assert!(cluster.nodes.iter().map(beats).sum::<u64>() > 0);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_missed_purged_entries_gets_a_snapshot_over_the_wire() {
    let mut cluster = Cluster::start(1, true).await;
    propose(&cluster.nodes, 0, "old").await;
    until("all have applied", || cluster.all_have(1)).await;
    let leader = leader_of(&cluster.nodes, 0).await;
    let gone = cluster.nodes.remove((leader + 1) % 3);
    let (me, address) = (gone.me, gone.address);
    gone.stop().await;
    let ballast = "x".repeat(8_000);
    for number in 0..400 {
        propose(&cluster.nodes, 0, &format!("{number:04} {ballast}")).await;
    }
    until("the logs are purged", || {
        cluster.nodes.iter().all(|node| {
            let status = node.groups[0].status();
            status.purged_index + 6 >= status.last_log_index
        })
    })
    .await;
    let listener = listen_again(address).await;
    let back = cluster.node(me, listener).await;
    until("a snapshot is installed", || {
        back.engine.metrics().snapshots_installed >= 1
    })
    .await;
    cluster.nodes.push(back);
    until("rows are the same", || {
        cluster.all_have(401) && cluster.nodes[0].rows(1) == cluster.nodes[2].rows(1)
    })
    .await;
    let chunks: u64 = cluster
        .nodes
        .iter()
        .map(|node| node.transport.metrics().snapshots.sent)
        .sum();
    // The header, more than 3 MiB of rows in chunks of 1 MiB, the end.
    assert!(chunks >= 5, "{chunks} chunks");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_of_many_groups_share_messages() {
    let cluster = Cluster::start(20, false).await;
    for group in 0..20 {
        leader_of(&cluster.nodes, group).await;
    }
    let sums = || {
        let metrics = cluster.nodes.iter().map(|node| node.transport.metrics());
        metrics.fold((0, 0), |(beats, batches), node| {
            (
                beats + node.heartbeats.sent,
                batches + node.heartbeat_batches,
            )
        })
    };
    let before = sums();
    until("heartbeats flow", || sums().0 >= before.0 + 2_000).await;
    let after = sums();
    let (beats, batches) = (after.0 - before.0, after.1 - before.1);
    assert!(batches < beats, "{beats} heartbeats in {batches} messages");
    cluster.stop().await;
}
