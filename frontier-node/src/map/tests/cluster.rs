//! Nodes of one process with a network between their logs, and their gRPC services on loopback.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use proto::admin_v1 as pb;
use proto::admin_v1::admin_client::AdminClient;
use proto::raft_v1::nodes_server::NodesServer;
use raftlog::testing::LocalNetwork;
use raftlog::{NodeId, RaftTiming};
use shard_map::{Body, ShardMap};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Endpoint};
use urlkey::SuffixList;

use crate::admin::admin_service;
use crate::cluster::{
    AddressBook, GossipEnd, Greeter, Member, NodeEntry, NodesService, gossip, node_number,
    replica_id,
};
use crate::identity::Descriptor;
use crate::map::{MapCell, MapOptions, ShapeRules, Shaper};
use crate::{FrontierNode, NodeOptions};

const PATIENCE: Duration = Duration::from_secs(30);

/// A node that is up.
pub(super) struct Up {
    pub(super) node: Arc<FrontierNode>,
    pub(super) book: Arc<AddressBook>,
    server: JoinHandle<()>,
    gossip: JoinHandle<GossipEnd>,
}

/// Some nodes, by number.
pub(super) struct Cluster {
    pub(super) up: BTreeMap<u32, Up>,
    pub(super) dirs: BTreeMap<u32, TempDir>,
    /// Of nodes 1, 2, ...
    pub(super) entries: Vec<NodeEntry>,
    pub(super) founded: Descriptor,
    pub(super) network: LocalNetwork,
    shaper: Option<Arc<dyn Shaper>>,
    has_map: bool,
    /// What the driver does unasked.
    pub(super) rules: ShapeRules,
}

impl Cluster {
    /// Directories and addresses of nodes 1, 2, ...; none is up yet.
    pub(super) async fn down(nodes: u32, shards: u64, shaper: Option<Arc<dyn Shaper>>) -> Self {
        let mut entries = Vec::new();
        for node in 1..=nodes {
            // Bound and closed again: the port is free for a moment, which is all that a test needs.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            entries.push(NodeEntry {
                node,
                incarnation: 0,
                address: listener.local_addr().unwrap().to_string(),
                has_store: false,
            });
        }
        let suffixes = SuffixList::shipped();
        let founders = (1..=nodes).collect();
        let founded = Descriptor::found(1, founders, shards, &suffixes, None).unwrap();
        let dirs = (1..=nodes).map(|node| (node, tempfile::tempdir().unwrap()));
        let cluster = Self {
            up: BTreeMap::new(),
            dirs: dirs.collect(),
            entries,
            founded,
            network: LocalNetwork::default(),
            shaper,
            has_map: true,
            rules: ShapeRules::default(),
        };
        for node in 1..=nodes {
            cluster.write_descriptor(replica_id(node, 0));
        }
        cluster
    }

    /// Nodes 1, 2, ... that have founded their map.
    pub(super) async fn start(nodes: u32, shards: u64, shaper: Option<Arc<dyn Shaper>>) -> Self {
        let mut cluster = Self::down(nodes, shards, shaper).await;
        cluster.start_all().await;
        cluster.wait_founded().await;
        cluster
    }

    /// As above, with rules of its own for what is done unasked.
    pub(super) async fn start_with(
        nodes: u32,
        shards: u64,
        shaper: Option<Arc<dyn Shaper>>,
        rules: ShapeRules,
    ) -> Self {
        let mut cluster = Self::down(nodes, shards, shaper).await;
        cluster.rules = rules;
        cluster.start_all().await;
        cluster.wait_founded().await;
        cluster
    }

    /// As above, and no replica is moved that a test does not move.
    pub(super) async fn quiet(nodes: u32, shards: u64) -> Self {
        let rules = ShapeRules {
            moves_at_once: 0,
            ..ShapeRules::default()
        };
        Self::start_with(nodes, shards, None, rules).await
    }

    /// Nodes 1, 2, ... of a quiet cluster whose groups have fewer voters than there are nodes.
    pub(super) async fn placed(
        nodes: u32,
        shards: u64,
        replicas: u32,
        shaper: Option<Arc<dyn Shaper>>,
    ) -> Self {
        let mut cluster = Self::down(nodes, shards, shaper).await;
        cluster.founded = cluster.founded.wanting(replicas);
        cluster.rules.moves_at_once = 0;
        for node in 1..=nodes {
            cluster.write_descriptor(replica_id(node, 0));
        }
        cluster.start_all().await;
        cluster.wait_founded().await;
        cluster
    }

    /// Applies a command to the map, through a node that may not lead; the job.
    pub(super) async fn change(&self, body: Body) -> Option<u64> {
        let map = Arc::clone(self.up.values().next().unwrap().node.map().unwrap());
        map.change(&body.into()).await.unwrap().job
    }

    /// How the gossip of a node that is up ended.
    pub(super) async fn gossip_end(&mut self, node: u32) -> GossipEnd {
        let gossip = &mut self.up.get_mut(&node).unwrap().gossip;
        let ended = tokio::time::timeout(PATIENCE, gossip).await;
        ended.expect("it goes on").unwrap()
    }

    /// Directories as a program without group 0 left them.
    pub(super) async fn of_before(nodes: u32, shards: u64) -> Self {
        let mut cluster = Self::down(nodes, shards, None).await;
        cluster.has_map = false;
        cluster.start_all().await;
        cluster.close_all().await;
        cluster.has_map = true;
        cluster
    }

    fn write_descriptor(&self, replica: NodeId) {
        let descriptor = Descriptor {
            replica,
            admitted: true,
            ..self.founded.clone()
        };
        descriptor.write(self.dir(replica)).unwrap();
    }

    fn dir(&self, replica: NodeId) -> &Path {
        self.dirs[&node_number(replica)].path()
    }

    pub(super) fn descriptor(&self) -> &Descriptor {
        &self.founded
    }

    pub(super) async fn start_all(&mut self) {
        for node in self.dirs.keys().copied().collect::<Vec<_>>() {
            let incarnation = self.entries[node as usize - 1].incarnation;
            self.start_node(replica_id(node, incarnation)).await;
        }
    }

    pub(super) async fn close_all(&mut self) {
        for node in self.up.keys().copied().collect::<Vec<_>>() {
            self.kill(node).await;
        }
    }

    /// Ends a node; what it acknowledged stays.
    pub(super) async fn kill(&mut self, node: u32) {
        let Some(up) = self.up.remove(&node) else {
            return;
        };
        up.gossip.abort();
        up.server.abort();
        let _cancelled = up.server.await;
        up.node.close().await;
    }

    /// An empty directory in the place of a node that is down: its next incarnation, as all nodes that are up know.
    pub(super) fn wipe(&mut self, node: u32) -> NodeId {
        self.dirs.insert(node, tempfile::tempdir().unwrap());
        let entry = &mut self.entries[node as usize - 1];
        entry.incarnation += 1;
        let replica = replica_id(node, entry.incarnation);
        for up in self.up.values() {
            up.book.learn(std::slice::from_ref(entry)).unwrap();
        }
        self.write_descriptor(replica);
        replica
    }

    pub(super) async fn start_node(&mut self, replica: NodeId) {
        let number = node_number(replica);
        let book = Arc::new(AddressBook::in_memory(self.entries.clone()));
        let copy = Arc::<MapCell>::default();
        let options = self.options(replica, Arc::clone(&book), Arc::clone(&copy));
        let node = FrontierNode::open(options);
        let node = Arc::new(node.await.unwrap());
        self.network.attach(&node.engine());
        let member = self.member(replica, Arc::clone(&book), Arc::clone(&copy));
        let opened = Arc::new(OnceLock::new());
        assert!(opened.set(Arc::clone(&node)).is_ok());
        let service = NodesServer::new(NodesService::new(Arc::clone(&member), opened));
        let admin = admin_service(&node);
        let listener = bind(&self.address(number)).await;
        let server = tokio::spawn(async move {
            tonic::transport::Server::builder()
                .add_service(service)
                .add_optional_service(admin)
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        let gossip = tokio::spawn(gossip(member, Arc::default()));
        let up = Up {
            node,
            book,
            server,
            gossip,
        };
        self.up.insert(number, up);
    }

    /// A node as others see it.
    pub(super) fn member(
        &self,
        replica: NodeId,
        book: Arc<AddressBook>,
        copy: Arc<MapCell>,
    ) -> Arc<Member> {
        Arc::new(Member {
            book,
            descriptor: RwLock::new(Descriptor::read(self.dir(replica)).unwrap()),
            dir: self.dir(replica).to_owned(),
            node: node_number(replica),
            address: self.address(node_number(replica)),
            has_store: false,
            founders: self.places(),
            shards: None,
            replicas: None,
            key: None,
            copy,
            process: replica,
            suffixes: SuffixList::shipped(),
            links: OnceLock::new(),
        })
    }

    fn options(&self, replica: NodeId, book: Arc<AddressBook>, copy: Arc<MapCell>) -> NodeOptions {
        let mut options = NodeOptions::new(self.dir(replica), self.founded.shards.len() as u64);
        options.node_id = replica;
        options.expected_urls = 1_000;
        options.fingerprint_key = Some(self.founded.key);
        options.voters = self
            .founded
            .founders
            .iter()
            .map(|n| replica_id(*n, 0))
            .collect();
        options.transport = self.network.transport(replica);
        options.book = book;
        options.engine.timing = RaftTiming {
            heartbeat_ms: 40,
            election_min_ms: 120,
            election_max_ms: 240,
        };
        options.engine.min_free_bytes = 0;
        options.engine.memtable_size_bytes = 4 << 20;
        options.engine.block_cache_size_bytes = 4 << 20;
        options.map = self.has_map.then(|| MapOptions {
            greeter: Arc::new(Greeter::default()),
            is_linked: Arc::new(|_| true),
            copy,
            shaper: self.shaper.clone(),
            rules: self.rules,
            keeps_zero: self.shaper.is_some(),
        });
        options
    }

    fn places(&self) -> Vec<(u32, String)> {
        let entries = self.entries.iter();
        entries.map(|e| (e.node, e.address.clone())).collect()
    }

    pub(super) fn address(&self, node: u32) -> String {
        self.entries[node as usize - 1].address.clone()
    }

    /// A node's copy of the map.
    pub(super) fn view(&self, node: u32) -> Arc<ShardMap> {
        self.up[&node].node.map().unwrap().view().map
    }

    /// The node that leads group 0.
    pub(super) async fn leader(&self) -> u32 {
        self.wait("a leader of group 0", |cluster| {
            let leads = |(_, up): &(&u32, &Up)| {
                let map = up.node.map();
                map.and_then(|map| map.zero())
                    .is_some_and(|zero| zero.leadership().is_leader)
            };
            let leader = cluster.up.iter().find(leads);
            leader.map(|(node, _)| *node)
        })
        .await
    }

    /// A node that does not lead group 0.
    pub(super) async fn follower(&self) -> u32 {
        let leader = self.leader().await;
        *self.up.keys().find(|node| **node != leader).unwrap()
    }

    pub(super) async fn wait_founded(&self) {
        self.wait_views("the founding", ShardMap::is_founded).await;
    }

    /// Waits until the copies of all nodes that are up are as wanted, and equal.
    pub(super) async fn wait_views(&self, what: &str, wanted: impl Fn(&ShardMap) -> bool) {
        self.wait(what, |cluster| {
            let views: Vec<_> = cluster.up.keys().map(|node| cluster.view(*node)).collect();
            let all = views.iter().all(|view| wanted(view) && *view == views[0]);
            all.then_some(())
        })
        .await;
    }

    /// Waits until a job has ended everywhere.
    pub(super) async fn wait_ended(&self, job: u64) {
        let is_ended = |map: &ShardMap| map.job(job).is_some_and(|job| !job.is_running());
        self.wait_views("the end of the job", is_ended).await;
    }

    pub(super) async fn wait<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let looked = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looked)
            .await
            .unwrap_or_else(|_| panic!("{what} does not come"))
    }

    /// `admin.v1` of one node.
    pub(super) fn admin(&self, node: u32) -> AdminClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address(node))).unwrap();
        AdminClient::new(endpoint.connect_lazy())
    }

    /// Asks a node for a split; the answer.
    pub(super) async fn split(&self, node: u32, request: pb::SplitRequest) -> Answer {
        let answered = self.admin(node).split(request).await.unwrap();
        answer(answered.into_inner())
    }
}

/// What a change came to.
pub(super) fn answer(answered: pb::ChangeResponse) -> Answer {
    match answered.end.unwrap() {
        pb::change_response::End::Accepted(accepted) => Ok(accepted),
        pb::change_response::End::Refused(reason) => Err(reason),
    }
}

/// Accepted, or why not.
pub(super) type Answer = Result<pb::Accepted, String>;

/// A split of a shard at a hash.
pub(super) fn split_at(request: u64, shard: u64, at: u64) -> pb::SplitRequest {
    pb::SplitRequest {
        request,
        shard,
        epoch: 0,
        point: Some(pb::split_request::Point::At(at)),
    }
}

/// The port of a server that just ended may be busy for a moment.
async fn bind(address: &str) -> TcpListener {
    for _ in 0..200 {
        if let Ok(listener) = TcpListener::bind(address).await {
            return listener;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{address} stays busy");
}
