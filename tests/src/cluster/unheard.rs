//! Programs whose stderr is full, or a pipe that nobody reads any more: what they say is lost, what they do goes on.

use super::Nodes;
use crate::program::{escapement, fetcher};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs it until it is ready, or for a while if it never is; then SIGTERM must be a clean end.
fn ends_cleanly(mut command: Command, stderr: Stdio, is_ready: bool) {
    let command = command.env("ESCAPEMENT_LOG", "debug");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap();
    if is_ready {
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready "), "{line}");
    } else {
        std::thread::sleep(Duration::from_secs(1));
    }
    assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn nodes_and_fetchers_need_nobody_who_listens() {
    for stderr in [full, closed] {
        let dir = tempfile::tempdir().unwrap();
        ends_cleanly(Nodes::new(dir.path(), 1).command(1), stderr(), true);
        let mut lonely = Command::new(fetcher());
        lonely.args(["--frontier", "127.0.0.1:1"]);
        ends_cleanly(lonely, stderr(), false);
    }
}

#[test]
fn a_refusal_that_nobody_reads_is_one_all_the_same() {
    for stderr in [full, closed] {
        let refused = |mut command: Command| command.stderr(stderr()).status().unwrap().code();
        assert_eq!(refused(Command::new(fetcher())), Some(1));
        let mut no_seeds = Command::new(escapement());
        no_seeds.args(["seed", "--frontier", "127.0.0.1:1"]);
        assert_eq!(refused(no_seeds), Some(1));
    }
}

#[test]
fn a_fetcher_without_a_frontier_complains_once() {
    let mut command = Command::new(fetcher());
    let mut child = command
        .args(["--frontier", "127.0.0.1:1"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Several tries.
    std::thread::sleep(Duration::from_secs(4));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.matches("no frontier answers yet").count(), 1, "{said}");
}
