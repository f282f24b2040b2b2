//! Founding, coming back, and being refused, over real servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use proto::raft_v1::nodes_server::NodesServer;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use urlkey::SuffixList;

use super::*;
use crate::identity::Descriptor;

/// Directories and addresses of some nodes.
struct Places {
    dirs: BTreeMap<u32, TempDir>,
    addresses: Vec<(u32, String)>,
}

/// A node that answers, with its directory open.
struct Up {
    member: Arc<Member>,
    server: JoinHandle<()>,
}

impl Drop for Up {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Places {
    async fn new(nodes: u32) -> Self {
        let mut addresses = Vec::new();
        for node in 1..=nodes {
            // Bound and closed again: the port is free for a moment, which is all that a test needs.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            addresses.push((node, listener.local_addr().unwrap().to_string()));
        }
        let dirs = (1..=nodes).map(|node| (node, tempfile::tempdir().unwrap()));
        Self {
            dirs: dirs.collect(),
            addresses,
        }
    }

    fn dir(&self, node: u32) -> PathBuf {
        self.dirs[&node].path().to_owned()
    }

    async fn start(&self, node: u32) -> Up {
        self.start_with(node, self.dir(node), 4).await
    }

    async fn start_with(&self, node: u32, dir: PathBuf, shards: u64) -> Up {
        let (_, address) = self.addresses[node as usize - 1].clone();
        self.start_at(node, dir, shards, &address, &address).await
    }

    /// Listens at one address and tells others another one.
    async fn start_at(&self, node: u32, dir: PathBuf, shards: u64, listen: &str, told: &str) -> Up {
        let member = Arc::new(Member {
            book: Arc::new(AddressBook::open(&dir).unwrap()),
            descriptor: RwLock::new(Descriptor::read(&dir).unwrap()),
            dir,
            node,
            address: told.to_owned(),
            has_store: true,
            founders: self.addresses.clone(),
            shards: Some(shards),
            key: None,
            replicas: None,
            copy: Arc::default(),
            process: u64::from_be_bytes(crate::identity::draw().unwrap()),
            suffixes: SuffixList::shipped(),
            links: OnceLock::new(),
        });
        let listener = bind(listen).await;
        let service = NodesService::new(Arc::clone(&member), Arc::new(OnceLock::new()));
        let server = tokio::spawn(async move {
            tonic::transport::Server::builder()
                .add_service(NodesServer::new(service))
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        Up { member, server }
    }

    fn wipe(&mut self, node: u32) -> TempDir {
        let empty = tempfile::tempdir().unwrap();
        self.dirs.insert(node, empty).unwrap()
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

async fn joined(up: &Up) -> Result<Descriptor, BootstrapError> {
    let greeter = Greeter::default();
    tokio::time::timeout(Duration::from_secs(30), bootstrap(&up.member, &greeter))
        .await
        .expect("no decision")
}

/// Whether it is still undecided after some rounds.
async fn waits(up: &Up) -> bool {
    let greeter = Greeter::default();
    tokio::time::timeout(Duration::from_millis(900), bootstrap(&up.member, &greeter))
        .await
        .is_err()
}

async fn founded(places: &Places) -> Vec<Up> {
    let ups = [
        places.start(1).await,
        places.start(2).await,
        places.start(3).await,
    ];
    for descriptor in futures::future::join_all(ups.iter().map(joined)).await {
        descriptor.unwrap();
    }
    ups.into()
}

#[tokio::test]
async fn three_empty_directories_found_one_cluster() {
    let places = Places::new(3).await;
    let first = places.start(1).await;
    assert!(waits(&first).await, "the others are not there yet");
    let others = [places.start(2).await, places.start(3).await];
    let (a, b, c) = tokio::join!(joined(&first), joined(&others[0]), joined(&others[1]));
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!((a.replica, b.replica, c.replica), (1, 2, 3));
    assert!(a.cluster_id == b.cluster_id && b.cluster_id == c.cluster_id && a.cluster_id != 0);
    assert!(a.key == b.key && b.key == c.key);
    assert_eq!((&a.shards, &a.founders), (&c.shards, &vec![1, 2, 3]));
    // A later start asks nobody.
    drop(others);
    let again = places.start_with(2, places.dir(2), 4).await;
    assert_eq!(joined(&again).await.unwrap().replica, 2);
}

/// case L17
#[tokio::test]
async fn an_empty_disk_comes_back_under_the_next_incarnation() {
    let mut places = Places::new(3).await;
    let mut ups = founded(&places).await;
    drop(ups.remove(1));
    let lost = places.wipe(2);
    let back = places.start(2).await;
    let descriptor = joined(&back).await.unwrap();
    assert_eq!(descriptor.replica, replica_id(2, 1));
    assert_eq!(
        ups[0].member.recorded(2),
        Some(1),
        "on other disks before it is used"
    );
    // It loses that disk too.
    drop(back);
    places.wipe(2);
    let back = places.start(2).await;
    assert_eq!(joined(&back).await.unwrap().replica, replica_id(2, 2));
    // The first disk is found again: its place is taken.
    drop(back);
    let old = places.start_with(2, lost.path().to_owned(), 4).await;
    assert_eq!(joined(&old).await.unwrap().replica, 2);
    let end = gossip(Arc::clone(&old.member), Arc::new(Greeter::default()));
    let end = tokio::time::timeout(Duration::from_secs(20), end)
        .await
        .unwrap();
    assert_eq!(end, GossipEnd::Replaced { node: 2, newest: 2 });
}

#[tokio::test]
async fn too_few_members_do_not_tell_which_incarnations_were_used() {
    let mut places = Places::new(3).await;
    let mut ups = founded(&places).await;
    drop(ups.remove(0));
    places.wipe(1);
    drop(ups.remove(1));
    let back = places.start(1).await;
    assert!(
        waits(&back).await,
        "one of two others may not know the newest"
    );
    let _third = places.start(3).await;
    assert_eq!(joined(&back).await.unwrap().replica, replica_id(1, 1));
}

/// A founder whose disk is lost before it ever took part is still the founder.
#[tokio::test]
async fn a_crash_while_founding_costs_no_incarnation() {
    let mut places = Places::new(3).await;
    let (first, second) = (places.start(1).await, places.start(2).await);
    let third = places.start(3).await;
    // The first one founds; the third adopts nothing.
    let greeter = Greeter::default();
    tokio::select! {
        _ = bootstrap(&first.member, &greeter) => panic!("admitted before the others know it"),
        () = async { while first.member.descriptor().is_none() { tokio::time::sleep(Duration::from_millis(10)).await } } => {}
    }
    drop(third);
    places.wipe(3);
    let third = places.start(3).await;
    let (a, b, c) = tokio::join!(joined(&first), joined(&second), joined(&third));
    assert_eq!(
        (a.unwrap().replica, b.unwrap().replica, c.unwrap().replica),
        (1, 2, 3)
    );
}

#[tokio::test]
async fn what_does_not_belong_together_is_refused_with_the_reason() {
    let places = Places::new(3).await;
    let ups = founded(&places).await;
    let refusal = |result: Result<Descriptor, BootstrapError>| result.unwrap_err().to_string();
    // Another cluster's directory at a known place.
    let strangers = Places::new(1).await;
    let alone = strangers.start(1).await;
    let own = joined(&alone).await.unwrap();
    assert!(own.admitted);
    let answer = Greeter::default()
        .hello(&places.addresses[0].1, alone.member.introduction())
        .await
        .unwrap_err();
    assert!(answer.message().contains("is of cluster"), "{answer}");
    // A founding with another number of shards.
    drop(ups);
    let fresh = Places::new(2).await;
    let one = fresh.start_with(1, fresh.dir(1), 4).await;
    let two = fresh.start_with(2, fresh.dir(2), 5).await;
    let (a, b) = tokio::join!(joined(&one), joined(&two));
    let words = [refusal(a), refusal(b)];
    assert!(words.iter().all(|w| w.contains("shards")), "{words:?}");
}

fn words(result: Result<Descriptor, BootstrapError>) -> String {
    result.unwrap_err().to_string()
}

/// An empty directory that was started under a living node's number, on another port, once became incarnation 1 at once,
/// and the living node then gave up its place.
#[tokio::test]
async fn a_living_nodes_number_is_not_taken() {
    let places = Places::new(3).await;
    let ups = founded(&places).await;
    let live = places.addresses[1].1.clone();
    for told in [live.as_str(), "127.0.0.1:9"] {
        // It tells others the living node's address, as the configuration has it, or one of its own.
        let dir = tempfile::tempdir().unwrap();
        let second = places
            .start_at(2, dir.path().to_owned(), 4, "127.0.0.1:0", told)
            .await;
        let refusal = words(joined(&second).await);
        assert!(refusal.contains("already here"), "{refusal}");
        assert!(
            Descriptor::read(dir.path()).unwrap().is_none(),
            "nothing was taken"
        );
    }
    for up in &ups {
        assert_eq!(up.member.recorded(2), Some(0));
    }
    // Its real directory still opens.
    ask_before_opening(&ups[1].member, &Greeter::default())
        .await
        .unwrap();
}

/// The newcomer cannot reach the living node, but others can.
#[tokio::test]
async fn members_refuse_a_later_incarnation_while_they_have_a_link_to_the_present_one() {
    let mut places = Places::new(3).await;
    let mut ups = founded(&places).await;
    drop(ups.remove(1));
    let is_linked = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let there = Arc::clone(&is_linked);
    let links: HasLink =
        Box::new(move |replica| replica == 2 && there.load(std::sync::atomic::Ordering::SeqCst));
    assert!(ups[0].member.links.set(links).is_ok());
    places.wipe(2);
    let second = places.start(2).await;
    let refusal = words(joined(&second).await);
    assert!(refusal.contains("node 2 lives"), "{refusal}");
    assert!(second.member.descriptor().is_none());
    // Nor do they take somebody else's word for it.
    let told = proto::raft_v1::Introduction {
        known: vec![proto::raft_v1::KnownNode {
            node: 2,
            incarnation: 1,
            ..Default::default()
        }],
        ..ups[1].member.introduction()
    };
    ups[0].member.learn(&told).unwrap();
    assert_eq!(ups[0].member.recorded(2), Some(0));
    // It dies: the place is free.
    is_linked.store(false, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(joined(&second).await.unwrap().replica, replica_id(2, 1));
}

#[tokio::test]
async fn who_comes_to_a_cluster_with_other_founders_or_shards_is_refused() {
    let mut places = Places::new(3).await;
    let mut ups = founded(&places).await;
    drop(ups.remove(1));
    places.wipe(2);
    let second = places.start_with(2, places.dir(2), 7).await;
    let refusal = words(joined(&second).await);
    assert!(refusal.contains("7 shards"), "{refusal}");
    drop(second);
    let addresses = places.addresses.clone();
    places.addresses.truncate(2);
    let second = places.start(2).await;
    let refusal = words(joined(&second).await);
    assert!(
        refusal.contains("[1, 2, 3]") && refusal.contains("[1, 2]"),
        "{refusal}"
    );
    drop(second);
    places.addresses = addresses;
    assert!(joined(&places.start(2).await).await.is_ok());
}

/// A directory says whose it is; one of another node once spoke in the name of the node that was started with it.
#[tokio::test]
async fn a_replica_of_another_node_is_not_believed() {
    let places = Places::new(3).await;
    let ups = founded(&places).await;
    let told = proto::raft_v1::Introduction {
        replica: replica_id(2, 5),
        incarnation: 5,
        ..ups[0].member.introduction()
    };
    let objection = ups[2].member.objection(&told).unwrap();
    assert!(objection.contains("directory of node 2"), "{objection}");
    assert_eq!(ups[2].member.objection(&ups[0].member.introduction()), None);
}

#[tokio::test]
async fn a_directory_is_asked_about_before_it_opens() {
    let mut places = Places::new(3).await;
    let mut ups = founded(&places).await;
    let greeter = Greeter::default();
    let asked = |up: &Up| {
        let member = Arc::clone(&up.member);
        async move {
            let asked = ask_before_opening(&member, &Greeter::default()).await;
            asked.map_err(|error| error.to_string())
        }
    };
    // One that was replaced.
    drop(ups.remove(1));
    let lost = places.wipe(2);
    let back = places.start(2).await;
    joined(&back).await.unwrap();
    gossip_once(&ups, &greeter).await;
    drop(back);
    let old = places.start_with(2, lost.path().to_owned(), 4).await;
    let refusal = asked(&old).await.unwrap_err();
    assert!(refusal.contains("took this directory's place"), "{refusal}");
    drop(old);
    // One of another cluster.
    let strangers = Places::new(3).await;
    let theirs = founded(&strangers).await;
    drop(theirs);
    let stranger = places.start_with(2, strangers.dir(2), 4).await;
    let refusal = asked(&stranger).await.unwrap_err();
    assert!(refusal.contains("is of cluster"), "{refusal}");
    // The stranger alone does not keep the others from opening.
    drop(ups.remove(1));
    assert_eq!(asked(&ups[0]).await, Ok(()));
    // With nobody there nobody is waited for.
    drop(stranger);
    assert_eq!(asked(&ups[0]).await, Ok(()));
}

/// Everybody tells the others what it knows, once.
async fn gossip_once(ups: &[Up], greeter: &Greeter) {
    for up in ups {
        for (_, address) in up.member.others() {
            let _away = greeter.hello(&address, up.member.introduction()).await;
        }
    }
}
