//! Nodes started with a directory that is not theirs, or not whole: each is refused with the reason, and nothing that
//! lives is harmed.

use super::{Nodes, Process, Talk};
use crate::program::frontier_node;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A node that must refuse to start has done so by then.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs a node that must refuse to start; what it says.
fn refused(mut command: Command) -> String {
    let mut child = command
        .env("NO_COLOR", "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it goes on: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

/// The command of a node, with one argument replaced.
fn with(nodes: &Nodes, number: usize, flag: &str, value: &str) -> Command {
    let plain = nodes.command(number);
    let mut command = Command::new(plain.get_program());
    let mut is_next = false;
    for argument in plain.get_args() {
        if is_next {
            command.arg(value);
        } else {
            command.arg(argument);
        }
        is_next = argument == flag;
    }
    command
}

fn all_live(nodes: &mut Nodes) {
    for number in nodes.numbers() {
        assert!(
            nodes.process(number).ended().is_none(),
            "node {number} ended"
        );
    }
}

/// An empty directory under node 2's number, while node 2 lives, once made node 2 exit.
#[tokio::test]
async fn an_empty_directory_does_not_take_a_living_nodes_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let other = dir.path().join("other");
    let second = |listen: &str| {
        let plain = with(&nodes, 2, "--dir", other.to_str().unwrap());
        let mut command = Command::new(plain.get_program());
        let (mut is_listen, mut is_http) = (false, false);
        for argument in plain.get_args() {
            match (is_listen, is_http) {
                (true, _) => command.arg(listen),
                (_, true) => command.arg("127.0.0.1:0"),
                _ => command.arg(argument),
            };
            is_listen = argument == "--listen";
            is_http = argument == "--http-listen";
        }
        command
    };
    // The port is not the one that the others would call.
    let why = refused(second("127.0.0.1:9"));
    assert!(why.contains("peer entry"), "{why}");
    // The system's choice of a port is allowed; then the living node is found where the others would call.
    let why = refused(second("127.0.0.1:0"));
    assert!(why.contains("node 2 is already here"), "{why}");
    // Longer than the others take to tell each other of an incarnation.
    tokio::time::sleep(Duration::from_secs(3)).await;
    all_live(&mut nodes);
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.wait_leaders().await.unwrap();
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// node-1 and node-2 were swapped: the nodes once started in each other's name and spoiled everybody's address books.
#[tokio::test]
async fn the_directory_of_another_node_or_cluster_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    for number in nodes.numbers() {
        nodes.kill(number);
    }
    let of = |number: usize| nodes.dir(number).to_str().unwrap().to_owned();
    for (number, other) in [(1, 2), (2, 1)] {
        let why = refused(with(&nodes, number, "--dir", &of(other)));
        let words = format!("the directory has {other}, this start has {number}");
        assert!(why.contains(&words), "{why}");
    }
    // Another number of shards than it was made with.
    let why = refused(with(&nodes, 1, "--shards", "7"));
    assert!(why.contains("number of shards differs"), "{why}");
    // A cluster of one that was made elsewhere.
    let alone = dir.path().join("alone");
    let mut command = Command::new(frontier_node());
    command.arg("--dir").arg(&alone);
    command.args(["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]);
    command.args([
        "--shards",
        "2",
        "--expected-urls",
        "1000",
        "--min-free-bytes",
        "1000000",
    ]);
    let mut process = Process::start(command, dir.path(), "alone");
    process.wait_ready().await.unwrap();
    assert!(process.terminate().await.success());
    let why = refused(with(&nodes, 1, "--dir", alone.to_str().unwrap()));
    assert!(why.contains("founding nodes differs"), "{why}");
    // One of another cluster of three, beside the real ones.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut others = Nodes::new(elsewhere.path(), 3);
    others.start_ready().await.unwrap();
    for number in others.numbers() {
        others.kill(number);
    }
    for number in [2, 3] {
        nodes.start_by(number, nodes.command(number));
    }
    nodes.wait_ready().await.unwrap();
    let theirs = others.dir(1);
    let why = refused(with(&nodes, 1, "--dir", theirs.to_str().unwrap()));
    assert!(why.contains("is of cluster"), "{why}");
    // With its own all is well.
    nodes.start_ready().await.unwrap();
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.wait_leaders().await.unwrap();
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// case L17: a disk that is not mounted, half a restore. The replica once voted again under its old id.
#[tokio::test]
async fn a_directory_that_lost_a_database_is_refused_and_an_emptied_one_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    nodes.kill(3);
    let place = nodes.dir(3);
    for lost in [vec!["log"], vec!["state"], vec!["log", "state"]] {
        let away = |part: &str| place.join(format!("{part}.away"));
        for part in &lost {
            std::fs::rename(place.join(part), away(part)).unwrap();
        }
        let why = refused(nodes.command(3));
        let words = format!("lost its {}", lost.join(" and its "));
        assert!(why.contains(&words) && why.contains("new replica"), "{why}");
        for part in &lost {
            std::fs::rename(away(part), place.join(part)).unwrap();
        }
    }
    // All is there again.
    nodes.start_ready().await.unwrap();
    nodes.kill(3);
    // And emptied as it says, it is a new replica.
    empty(&place);
    nodes.start_by(3, nodes.command(3));
    let ready = nodes.process(3).wait_ready().await.unwrap();
    assert!(
        ready.contains(&format!("replica={}", (1_u64 << 32) + 3)),
        "{ready}"
    );
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

fn empty(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
    std::fs::create_dir_all(dir).unwrap();
}
