//! Empty directories that join a running cluster, and those that may not.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shard_map::{Body, NodeState, command::Leave};
use tokio::net::TcpListener;
use urlkey::SuffixList;

use super::cluster::Cluster;
use crate::cluster::{
    AddressBook, BootstrapError, GossipEnd, Greeter, Newcomer, NodeEntry, ask_before_opening,
    join_cluster, replica_id,
};
use crate::identity::Descriptor;

const PATIENCE: Duration = Duration::from_secs(40);

/// An empty directory at an address of its own.
struct Empty {
    dir: tempfile::TempDir,
    address: String,
}

impl Empty {
    async fn new() -> Self {
        // Bound and closed again: the port is free for a moment, which is all that a test needs.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self {
            dir: tempfile::tempdir().unwrap(),
            address: listener.local_addr().unwrap().to_string(),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    fn asking(&self, node: Option<u32>, contacts: &[String]) -> Newcomer {
        Newcomer {
            dir: self.path(),
            node,
            address: self.address.clone(),
            has_store: false,
            process: 77,
            suffixes: SuffixList::shipped(),
            contacts: contacts.to_vec(),
            patience_ms: 300,
            book: Arc::new(AddressBook::open(self.dir.path()).unwrap()),
        }
    }
}

/// Joins, within bounds, going on with what an earlier try wrote.
async fn join(newcomer: &Newcomer) -> Result<Descriptor, BootstrapError> {
    let begun = Descriptor::read(&newcomer.dir)?;
    let greeter = Greeter::default();
    let joined = tokio::time::timeout(PATIENCE, join_cluster(newcomer, begun, &greeter));
    let joined = joined.await.expect("no decision")?;
    joined.write(&newcomer.dir)?;
    Ok(joined)
}

async fn refused(newcomer: &Newcomer) -> String {
    join(newcomer).await.unwrap_err().to_string()
}

/// One that has joined is started like any other from now on.
async fn start(cluster: &mut Cluster, empty: Empty, joined: &Descriptor) {
    let node = crate::cluster::node_number(joined.replica);
    let entry = NodeEntry {
        node,
        incarnation: crate::cluster::incarnation(joined.replica),
        address: empty.address,
        has_store: false,
    };
    cluster.entries.retain(|known| known.node != node);
    cluster.entries.push(entry);
    cluster.dirs.insert(node, empty.dir);
    cluster.start_node(joined.replica).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_directory_gets_the_lowest_free_number_and_the_map() {
    let mut cluster = Cluster::quiet(3, 2).await;
    let empty = Empty::new().await;
    // Any member suffices, whether it leads or not.
    let contact = cluster.address(cluster.follower().await);
    let newcomer = empty.asking(None, &["127.0.0.1:9".to_owned(), contact]);
    let joined = join(&newcomer).await.unwrap();
    assert_eq!(joined.replica, 4);
    assert!(joined.admitted && joined.disk != 0);
    assert_eq!(joined.key, cluster.founded.key);
    let map = cluster.view(1);
    let node = map.node(4).unwrap();
    assert_eq!(
        (node.state(), &node.address),
        (NodeState::Up, &empty.address)
    );
    let address = empty.address.clone();
    start(&mut cluster, empty, &joined).await;
    assert_eq!(cluster.up[&4].node.shards(), Vec::<u64>::new());
    assert!(cluster.up[&4].node.map().unwrap().zero().is_none());
    cluster
        .wait_views("the map on node 4", |map| map.node(4).is_some())
        .await;
    // A node that nobody configured is in everybody's book.
    cluster
        .wait("its address", |cluster| {
            let mut books = cluster.up.values().map(|up| up.book.address_of(4));
            books
                .all(|known| known.as_ref() == Some(&address))
                .then_some(())
        })
        .await;
    // It changes the map like any other, and starts again without being told of anybody.
    cluster.kill(4).await;
    cluster.start_node(4).await;
    cluster
        .wait_views("the map on node 4", |map| map.node(4).is_some())
        .await;
    let leave = Body::Leave(Leave { node: 4 }).into();
    let map = Arc::clone(cluster.up[&4].node.map().unwrap());
    map.change(&leave).await.unwrap();
    let end = cluster.gossip_end(4).await;
    assert_eq!(
        end,
        GossipEnd::Gone {
            node: 4,
            incarnation: 0
        }
    );
    // Nor does it come back.
    let book = Arc::clone(&cluster.up[&4].book);
    cluster.kill(4).await;
    let member = cluster.member(4, book, Arc::default());
    let asked = ask_before_opening(&member, &Greeter::default()).await;
    let words = asked.unwrap_err().to_string();
    assert!(words.contains("node 4 left the cluster"), "{words}");
    cluster
        .wait("node 4 out of the books", |cluster| {
            let others = cluster.up.values();
            others
                .map(|up| up.book.address_of(4))
                .all(|a| a.is_none())
                .then_some(())
        })
        .await;
    // Its place is free again, for a new disk.
    let empty = Empty::new().await;
    let back = join(&empty.asking(Some(4), &[cluster.address(1)]))
        .await
        .unwrap();
    assert_eq!(back.replica, replica_id(4, 1));
    cluster.close_all().await;
}

/// case L17: a number and incarnation belong to one directory, for there are votes under them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_get_two_numbers_and_a_begun_one_goes_on() {
    let cluster = Cluster::quiet(3, 1).await;
    let contacts = [cluster.address(2)];
    let (a, b) = (Empty::new().await, Empty::new().await);
    let (first, second) = (a.asking(None, &contacts), b.asking(None, &contacts));
    let (first, second) = tokio::join!(join(&first), join(&second));
    let mut numbers = [first.unwrap().replica, second.unwrap().replica];
    numbers.sort_unstable();
    assert_eq!(numbers, [4, 5]);
    // It died when the map had it and its own disk did not say so.
    let begun = Descriptor::read(a.dir.path()).unwrap().unwrap();
    let replica = begun.replica;
    let begun = Descriptor {
        admitted: false,
        ..begun
    };
    begun.write(a.dir.path()).unwrap();
    let before = cluster.view(1).version;
    assert_eq!(
        join(&a.asking(None, &contacts)).await.unwrap().replica,
        replica
    );
    // It knows members by then, though it is told of none that lives.
    begun.write(a.dir.path()).unwrap();
    let known = AddressBook::open(a.dir.path()).unwrap().entries();
    let known: Vec<String> = known.into_iter().map(|entry| entry.address).collect();
    assert!(known.len() >= 3, "{known:?}");
    assert_eq!(
        join(&a.asking(None, &known)).await.unwrap().replica,
        replica
    );
    assert_eq!(cluster.view(1).version, before, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_join_is_refused_with_the_reason_and_changes_nothing() {
    let mut cluster = Cluster::quiet(3, 1).await;
    let contacts = [cluster.address(1), cluster.address(2)];
    let before = cluster.view(1);
    let empty = Empty::new().await;
    // Another suffix list.
    let stranger = Newcomer {
        suffixes: Arc::new(SuffixList::parse("com\n").unwrap()),
        ..empty.asking(None, &contacts)
    };
    let words = refused(&stranger).await;
    assert!(words.contains("suffix list"), "{words}");
    // The number of a node that lives: the one it asks first, or another.
    for contacts in [&contacts[..1], &contacts[1..]] {
        let words = refused(&empty.asking(Some(2), contacts)).await;
        assert!(words.contains("node 2 is already here"), "{words}");
    }
    // The address of a node that is there.
    let there = Newcomer {
        address: cluster.address(3),
        ..empty.asking(None, &contacts)
    };
    let words = refused(&there).await;
    assert!(
        words.contains("node 3") && words.contains("--node 3"),
        "{words}"
    );
    // Nobody at all.
    let words = refused(&empty.asking(None, &["127.0.0.1:9".to_owned()])).await;
    assert!(
        words.contains("no member") && words.contains("127.0.0.1:9"),
        "{words}"
    );
    assert!(
        Descriptor::read(empty.dir.path()).unwrap().is_none(),
        "nothing was taken"
    );
    assert_eq!(cluster.view(1), before);
    // It is down, and its disk lost: a new one takes its place.
    cluster.kill(2).await;
    let joined = join(&empty.asking(Some(2), &contacts)).await.unwrap();
    assert_eq!(joined.replica, replica_id(2, 1));
    // Whoever has the old one is told.
    cluster
        .wait_views("the new disk", |map| map.node(2).unwrap().incarnation == 1)
        .await;
    let others = cluster.up[&1].book.entries().into_iter();
    let book = Arc::new(AddressBook::in_memory(others.filter(|e| e.node != 2)));
    let old = cluster.member(2, book, Arc::default());
    let words = ask_before_opening(&old, &Greeter::default()).await;
    let words = words.unwrap_err().to_string();
    assert!(words.contains("took this directory's place"), "{words}");
    cluster.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_group_zero_has_no_quorum_a_newcomer_waits() {
    let mut cluster = Cluster::quiet(3, 1).await;
    let contacts = [cluster.address(1)];
    cluster.kill(2).await;
    cluster.kill(3).await;
    let empty = Empty::new().await;
    let newcomer = empty.asking(None, &contacts);
    let greeter = Greeter::default();
    let waits = join_cluster(&newcomer, None, &greeter);
    assert!(
        tokio::time::timeout(Duration::from_secs(3), waits)
            .await
            .is_err(),
        "nobody can let it in"
    );
    let begun = Descriptor::read(empty.dir.path()).unwrap().unwrap();
    assert!(!begun.admitted, "it is no member yet");
    cluster.start_node(2).await;
    assert_eq!(join(&newcomer).await.unwrap().replica, 4);
    cluster.close_all().await;
}
