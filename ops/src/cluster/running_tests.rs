//! Clusters whose nodes are shell scripts.

use super::*;
use crate::cluster::Addresses;
use std::time::Duration;

/// Two nodes whose program is a shell script.
fn cluster(dir: &Path, script: &str) -> Cluster {
    // Handed to the shell: a file just written may still be open in a child of another test, and so not executable.
    let path = dir.join("node");
    std::fs::write(&path, script).unwrap();
    let programs = Programs {
        node: path.clone(),
        fetcher: path,
    };
    let addresses = Addresses::loopback(2).unwrap();
    let nodes = (1..=2).map(|n| NodeSpec {
        within: vec!["sh".to_owned()],
        ..NodeSpec::new(n, &addresses, dir, 1).unwrap()
    });
    let spec = FetcherSpec {
        frontier: addresses.grpc_list(),
        web: addresses.http[&1],
        copies: 1,
        open_fetches: 1,
        lease_ttl: Duration::from_secs(10),
        fetch_timeout: Duration::from_secs(4),
    };
    Cluster::new(programs, dir, nodes.collect(), spec, 1).unwrap()
}

#[tokio::test]
async fn nodes_are_killed_wiped_and_started_again() {
    let dir = tempfile::tempdir().unwrap();
    // $4 is the directory; a marker in it says that it was not wiped.
    let script = "r=7; [ -e $4/m ] && r=8; touch $4/m; echo ready replica=$r; exec sleep 60";
    let mut cluster = cluster(dir.path(), script);
    cluster.start_nodes().await.unwrap();
    assert_eq!((cluster.replica(1), cluster.runs(1)), (Some(7), true));
    assert!(cluster.wipe_node(1).is_err(), "it runs");
    cluster.kill_node(1).unwrap();
    assert!(!cluster.runs(1) && cluster.runs(2));
    cluster.start_nodes().await.unwrap();
    assert_eq!(cluster.replica(1), Some(8), "same directory");
    cluster.kill_node(1).unwrap();
    cluster.wipe_node(1).unwrap();
    cluster.start_nodes().await.unwrap();
    assert_eq!(cluster.replica(1), Some(7), "an empty one");
    cluster.check_alive().unwrap();
    assert!(cluster.kill_fetcher(1).is_err(), "it does not run");
}

#[tokio::test]
async fn a_process_that_ends_by_itself_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo ready replica=1; echo broken >&2; exit 1";
    let mut cluster = cluster(dir.path(), script);
    cluster.start_nodes().await.unwrap();
    let error = loop {
        match cluster.check_alive() {
            Ok(()) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => break error.to_string(),
        }
    };
    // Both end; which is seen first is open.
    assert!(
        error.contains("ended by itself") && error.contains("broken"),
        "{error}"
    );
}
