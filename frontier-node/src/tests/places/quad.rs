//! Three nodes in this process that found one shard, and a fourth one that it moves to; each is told of the map by the test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use client::{Frontier, Peer, Router, RouterOptions};
use raftlog::testing::LocalNetwork;
use raftlog::{Group, RaftTiming};
use shard_map::{Body, Identity, Node, Plan, ShardMap, command};
use tempfile::TempDir;
use urlkey::{FingerprintKey, SuffixList};

use super::super::support::{options, until};
use super::{Teller, view};
use crate::cluster::{AddressBook, NodeEntry};
use crate::map::MapView;
use crate::{FrontierNode, NodeOptions, SplitRequest};

pub(super) const FOUNDERS: [u64; 3] = [1, 2, 3];
pub(super) const ALL: [u64; 4] = [1, 2, 3, 4];

/// See the head of this file.
pub(super) struct Quad {
    network: LocalNetwork,
    dirs: BTreeMap<u64, TempDir>,
    tellers: BTreeMap<u64, Teller>,
    pub(super) nodes: BTreeMap<u64, FrontierNode>,
    pub(super) map: ShardMap,
}

impl Quad {
    pub(super) async fn start() -> Self {
        let mut quad = Self {
            network: LocalNetwork::default(),
            dirs: ALL.map(|id| (id, tempfile::tempdir().unwrap())).into(),
            tellers: ALL.map(|id| (id, Teller::new(MapView::default()))).into(),
            nodes: BTreeMap::new(),
            map: ShardMap::default(),
        };
        for id in ALL {
            quad.open(id).await;
        }
        let identity = Identity::default();
        quad.apply(Body::Found(command::Found {
            cluster_id: 7,
            identity,
            replica_target: 3,
            shards: 1,
            nodes: FOUNDERS.map(node).into(),
        }));
        quad.apply(Body::Join(command::Join {
            cluster_id: 7,
            identity,
            node: node(4),
        }));
        quad.tell();
        quad
    }

    fn options(&self, id: u64) -> NodeOptions {
        let entry = |id: u64| NodeEntry {
            node: id as u32,
            incarnation: 0,
            address: format!("n{id}"),
            has_store: false,
        };
        let mut options = NodeOptions {
            node_id: id,
            fingerprint_key: Some(FingerprintKey::ZERO),
            voters: FOUNDERS.into(),
            transport: self.network.transport(id),
            book: Arc::new(AddressBook::in_memory(ALL.map(entry))),
            views: Some(self.tellers[&id].subscribe()),
            ..options(self.dirs[&id].path(), 1)
        };
        options.engine.timing = RaftTiming {
            heartbeat_ms: 50,
            election_min_ms: 300,
            election_max_ms: 600,
        };
        options
    }

    pub(super) async fn open(&mut self, id: u64) {
        let node = FrontierNode::open(self.options(id)).await.unwrap();
        self.network.attach(&node.engine());
        self.nodes.insert(id, node);
    }

    pub(super) async fn stop(&mut self, id: u64) {
        self.nodes.remove(&id).unwrap().close().await;
    }

    pub(super) fn apply(&mut self, body: Body) {
        shard_map::apply(&mut self.map, &body.into()).unwrap();
    }

    /// All nodes hear of the newest map.
    pub(super) fn tell(&self) {
        for teller in self.tellers.values() {
            teller.send_replace(view(&self.map));
        }
    }

    /// The node that leads a shard and has proven it.
    pub(super) async fn leader(&self, shard: u64) -> u64 {
        let find = || {
            let leads = |node: &FrontierNode| {
                let standing = node.shard_standing(shard);
                standing.is_some_and(|standing| standing.is_proven)
            };
            let mut nodes = self.nodes.iter();
            nodes.find(|(_, node)| leads(node)).map(|(id, _)| *id)
        };
        until("a leader", || find().is_some()).await;
        find().unwrap_or_default()
    }

    /// What a leadership of now does to its group.
    async fn led(&self, shard: u64, what: &str, done: impl AsyncFn(&Group) -> bool) {
        let trying = async {
            loop {
                let group = self.nodes[&self.leader(shard).await].engine().group(shard);
                if done(&group.unwrap()).await {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let tried = tokio::time::timeout(Duration::from_secs(60), trying).await;
        assert!(tried.is_ok(), "not in time: {what}");
    }

    /// Moves a shard's replica from one node to another as far as the group goes; the map says so, and nobody has heard it.
    pub(super) async fn regroup(&mut self, shard: u64, from: u64, to: u64) {
        // Whatever was destroyed by a move before is.
        if let Some(job) = self.map.job_of_shard(shard) {
            self.step(job.id, &[]);
        }
        let epoch = self.map.members(shard).unwrap().epoch;
        self.apply(Body::MoveReplica(command::MoveReplica {
            shard,
            epoch,
            from: from as u32,
            to: to as u32,
            ..command::MoveReplica::default()
        }));
        self.tell();
        let job = self.map.job_of_shard(shard).unwrap().clone();
        let Some(Plan::Move(plan)) = job.plan else {
            panic!("no move: {job:?}")
        };
        until("the replica is made", || {
            self.nodes[&to].shards().contains(&shard)
        })
        .await;
        self.led(shard, "it is fed", async |group| {
            let token = group.leadership().borrow().token();
            match token {
                Some(token) => group.add_learner(token, plan.new).await.is_ok(),
                None => false,
            }
        })
        .await;
        self.step(job.id, &[]);
        self.led(shard, "it has caught up and votes", async |group| {
            let token = group.leadership().borrow().token();
            let mut voters = group.status().voters;
            voters.remove(&plan.old);
            voters.insert(plan.new);
            match token {
                Some(token) => group.change_voters(token, voters).await.is_ok(),
                None => false,
            }
        })
        .await;
        self.step(job.id, &[]);
        self.step(job.id, &[]);
    }

    /// Splits a shard of the founders', to the end.
    pub(super) async fn split(&mut self, shard: u64, at: u64) -> u64 {
        let epoch = self.map.members(shard).unwrap().epoch;
        self.apply(Body::SplitShard(command::SplitShard {
            shard,
            epoch,
            at,
            ..command::SplitShard::default()
        }));
        let job = self.map.job_of_shard(shard).unwrap().clone();
        let Some(Plan::Split(plan)) = job.plan else {
            panic!("no split: {job:?}")
        };
        self.step(job.id, &[]);
        let request = SplitRequest {
            shard,
            epoch,
            at,
            child: plan.child,
            voters: plan.voters.iter().copied().collect(),
        };
        let leader = &self.nodes[&self.leader(shard).await];
        leader.split_shard(request).await.unwrap();
        self.leader(plan.child).await;
        for created in [&[][..], plan.voters.as_slice(), &[], &[]] {
            self.step(job.id, created);
        }
        plan.child
    }

    /// The next step of the job is said to the map.
    fn step(&mut self, job: u64, created: &[u64]) {
        let expects = self.map.job(job).unwrap().step;
        self.apply(Body::StepDone(command::StepDone {
            job,
            expects,
            created: created.to_vec(),
        }));
    }

    /// A router over the nodes, by their addresses.
    pub(super) async fn router(&self) -> Arc<Router> {
        let peer = |(id, node): (&u64, &FrontierNode)| Peer {
            address: format!("n{id}"),
            frontier: node.frontier(),
        };
        let options = RouterOptions {
            leaderless_ms: 60_000,
            call_ms: 60_000,
            ..RouterOptions::new(SuffixList::shipped())
        };
        let peers = self.nodes.iter().map(peer).collect();
        Arc::new(Router::connect(peers, options).await.unwrap())
    }

    pub(super) fn frontier(&self, id: u64) -> Arc<dyn Frontier> {
        self.nodes[&id].frontier()
    }

    pub(super) async fn close(self) {
        for node in self.nodes.into_values() {
            node.close().await;
        }
    }
}

fn node(number: u64) -> Node {
    Node {
        number: number as u32,
        address: format!("n{number}"),
        holds_shards: true,
        ..Node::default()
    }
}
