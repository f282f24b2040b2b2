//! Commands that come before their cluster wait for it, whatever list of suffixes it has.

use super::{Nodes, Process};
use crate::program::escapement;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time until a command says that it waits.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(words: &[&str], nodes: &Nodes, list: &Path) -> Command {
    let mut command = Command::new(escapement());
    command
        .args(words)
        .args(["--frontier", &nodes.addresses().join(",")])
        .arg("--suffix-list")
        .arg(list);
    command
}

#[tokio::test]
async fn seed_scrub_and_get_wait_for_a_cluster_that_is_being_founded() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("suffixes.dat");
    std::fs::write(&list, "com\nexample\n").unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    let start = |name: &str, words: &[&str]| {
        Process::start(command(words, &nodes, &list), dir.path(), name)
    };
    let url = "http://a.example/";
    let mut seed = start("seed", &["seed", url]);
    let mut scrub = start("scrub", &["scrub"]);
    // Nobody listens yet: it says so, once it has waited for a while.
    let until = Instant::now() + PATIENCE;
    while !seed.log_end().contains("waiting up to") {
        assert!(seed.ended().is_none(), "{}", seed.log_end());
        assert!(Instant::now() < until, "it says nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Two of three cannot found a cluster: they serve the handshake alone.
    let with_list = |nodes: &Nodes, number| {
        let mut command = nodes.command(number);
        command.arg("--suffix-list").arg(&list);
        command
    };
    for number in [1, 2, 3] {
        nodes.start_by(number, with_list(&nodes, number));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(seed.wait_end().await.success(), "{}", seed.log_end());
    assert!(scrub.wait_end().await.success(), "{}", scrub.log_end());
    let get = command(&["get", url], &nodes, &list).output().unwrap();
    let why = String::from_utf8_lossy(&get.stderr).into_owned();
    assert!(why.contains("no page is stored yet"), "{why}");
    nodes.wait_ready().await.unwrap();
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}
