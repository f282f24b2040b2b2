//! Nodes that join a running cluster by one command, and those that may not: each is refused with the reason.

use super::{Nodes, Process};
use crate::program::{frontier_node, last_json, run, stderr};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LOOKS: usize = 150;
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What it ends with whose directory never takes part again.
const FOR_GOOD: Option<i32> = Some(3);

/// A node that is no founder, at an address of its own.
struct Newcomer {
    grpc: SocketAddr,
    http: SocketAddr,
}

impl Newcomer {
    /// Beside the nodes of a cluster, where nobody else finds ports.
    fn beside(nodes: &Nodes) -> Self {
        let near: SocketAddr = nodes.addresses()[0].parse().unwrap();
        let held = [(); 2].map(|()| TcpListener::bind((near.ip(), 0)).unwrap());
        let [grpc, http] = held.map(|listener| listener.local_addr().unwrap());
        Self { grpc, http }
    }

    /// How it is started, whether it joins or comes back.
    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(frontier_node());
        command.arg("--dir").arg(dir);
        command.args(["--listen", &self.grpc.to_string()]);
        command.args(["--http-listen", &self.http.to_string()]);
        command.args(["--expected-urls", "100000", "--min-free-bytes", "1000000"]);
        command
    }

    fn joining(&self, dir: &Path, contacts: &[String]) -> Command {
        let mut command = self.command(dir);
        command.args(["--join", &contacts.join(",")]);
        command
    }
}

fn ctl(frontier: &str, words: &[&str]) -> Value {
    let all = ["ctl", "--frontier", frontier, "--json"];
    let output = run(&[&all[..], words].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{words:?}: {}",
        stderr(&output)
    );
    last_json(&output)
}

async fn until(frontier: &str, words: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..LOOKS {
        let shown = ctl(frontier, words);
        if wanted(&shown) {
            return shown;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("{words:?} does not show what is waited for");
}

/// Runs a node that must not become one; how it ends and what it says.
async fn refused(command: Command, dir: &Path) -> (Option<i32>, String) {
    let mut process = Process::start(command, dir, "refused");
    let status = process.wait_end().await;
    (status.code(), process.log_end())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fourth_node_joins_by_one_command_and_leaves_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let contacts = nodes.addresses();
    until(&contacts.join(","), &["status"], |s| s["founded"] == true).await;

    let (newcomer, place) = (Newcomer::beside(&nodes), dir.path().join("fourth"));
    let mut fourth = Process::start(newcomer.joining(&place, &contacts), dir.path(), "fourth");
    let ready = fourth.wait_ready().await.unwrap();
    assert!(ready.contains("node=4 replica=4 "), "{ready}");
    // Itself and another one, each asked alone, show it up, and linked.
    let own = newcomer.grpc.to_string();
    for asked in [own.as_str(), &contacts[2]] {
        let listed = until(asked, &["nodes"], |s| {
            let all = s["nodes"].as_array().unwrap();
            all.len() == 4 && all.iter().all(|node| node["linked"] == true)
        });
        let fourth = &listed.await["nodes"][3];
        assert_eq!(
            (&fourth["node"], &fourth["state"]),
            (&4.into(), &"up".into())
        );
        assert_eq!(fourth["address"], own);
    }

    // Another start needs neither its number nor a member, and being told to join again changes nothing.
    assert!(fourth.terminate().await.success());
    for command in [
        newcomer.command(&place),
        newcomer.joining(&place, &contacts),
    ] {
        let mut fourth = Process::start(command, dir.path(), "fourth");
        let ready = fourth.wait_ready().await.unwrap();
        assert!(ready.contains("node=4 replica=4 "), "{ready}");
        until(&own, &["status"], |s| s["nodes_up"] == 4).await;
        assert!(fourth.terminate().await.success());
    }
    let fourth = newcomer.command(&place);
    let mut fourth = Process::start(fourth, dir.path(), "fourth");
    fourth.wait_ready().await.unwrap();

    // The fifth is told by its file.
    let (newcomer, file) = (Newcomer::beside(&nodes), dir.path().join("fifth.toml"));
    let text = format!(
        "dir = {:?}\nlisten = \"{}\"\nhttp_listen = \"{}\"\nnode = 9\njoin = [\"{own}\"]\nexpected_urls = 1000\nmin_free_bytes = 1000000\n",
        dir.path().join("fifth"),
        newcomer.grpc,
        newcomer.http
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(frontier_node());
    command.arg("--config").arg(&file);
    let mut fifth = Process::start(command, dir.path(), "fifth");
    let ready = fifth.wait_ready().await.unwrap();
    assert!(ready.contains("node=9 replica=9 "), "{ready}");

    // It leaves: it says so, and does not come back.
    ctl(&own, &["drain", "9", "--wait", "--within", "90s"]);
    ctl(&own, &["leave", "9", "--yes"]);
    let end = fifth.wait_end().await;
    assert_eq!(end.code(), FOR_GOOD, "{}", fifth.log_end());
    assert!(
        fifth.log_end().contains("node 9 left the cluster"),
        "{}",
        fifth.log_end()
    );
    let mut command = Command::new(frontier_node());
    command.arg("--config").arg(&file);
    let (code, why) = refused(command, dir.path()).await;
    assert!(
        code == FOR_GOOD && why.contains("node 9 left the cluster"),
        "{why}"
    );
    assert!(fourth.terminate().await.success());
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_join_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let contacts = nodes.addresses();
    let frontier = contacts.join(",");
    let before = until(&frontier, &["status"], |s| s["founded"] == true).await;
    let (newcomer, place) = (Newcomer::beside(&nodes), dir.path().join("fourth"));
    let list = dir.path().join("list");
    std::fs::write(&list, "com\n").unwrap();
    let elsewhere = format!("127.255.0.9:{}", newcomer.grpc.port());
    let nowhere = ["127.0.0.1:9".to_owned()];
    let with = |contacts: &[String], more: &[&str]| {
        let mut command = newcomer.joining(&place, contacts);
        command.args(more);
        command
    };
    for (command, why) in [
        (
            with(&contacts, &["--suffix-list", list.to_str().unwrap()]),
            "suffix list",
        ),
        (with(&contacts, &["--node", "2"]), "node 2 is already here"),
        (
            with(&contacts, &["--peer", "1=127.0.0.1:1"]),
            "leave out --peer",
        ),
        (
            with(&contacts, &["--address", &elsewhere]),
            "not reached at 127.255.0.9",
        ),
        (
            with(&nowhere, &[]),
            "no member of a cluster answers: 127.0.0.1:9",
        ),
    ] {
        let (code, said) = refused(command, dir.path()).await;
        assert!(code == Some(1) && said.contains(why), "{why}: {said}");
    }
    let after = ctl(&frontier, &["status"]);
    assert_eq!(
        after["copy"]["version"], before["copy"]["version"],
        "nothing was changed"
    );
    assert_eq!(after["nodes_up"], 3);

    // Without a quorum of group 0 nobody is let in, and nobody is turned away.
    for number in [1, 2] {
        nodes.kill(number);
    }
    let command = newcomer.joining(&place, &contacts[2..]);
    let mut fourth = Process::start(command, dir.path(), "fourth");
    for _ in 0..LOOKS {
        if fourth.log_end().contains("waits for group 0") {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    assert!(
        fourth.log_end().contains("waits for group 0"),
        "{}",
        fourth.log_end()
    );
    // It dies meanwhile, and goes on where it was, told of nobody.
    fourth.kill();
    nodes.start_ready().await.unwrap();
    let command = newcomer.command(&place);
    let mut fourth = Process::start(command, dir.path(), "fourth");
    let ready = fourth.wait_ready().await.unwrap();
    assert!(ready.contains("node=4 "), "{ready}");
    assert!(fourth.terminate().await.success());
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}
