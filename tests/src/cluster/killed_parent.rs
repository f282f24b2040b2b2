//! A command that started a cluster is killed with SIGKILL: its processes end with it, paused ones too, and the next run
//! removes the directory that it could not.

use crate::program::escapement;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What takes longer does not happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(temporary: &Path) -> Child {
    let mut command = Command::new(escapement());
    command
        .args(["bench", "n10", "--shards", "1", "--settle-seconds", "600"])
        .env("TMPDIR", temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until something is as it should be.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn children(of: &Child) -> Vec<Pid> {
    let path = format!("/proc/{0}/task/{0}/children", of.id());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

fn directory(temporary: &Path, of: &Child) -> Option<std::path::PathBuf> {
    let prefix = format!("escapement-{}", of.id());
    let mut entries = std::fs::read_dir(temporary).unwrap().flatten();
    let found = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    found.map(|entry| entry.path())
}

#[test]
fn nothing_of_a_killed_bench_stays() {
    let temporary = tempfile::tempdir().unwrap();
    let mut first = start(temporary.path());
    let nodes = wait(|| Some(children(&first)).filter(|nodes| nodes.len() == 3));
    let left = wait(|| directory(temporary.path(), &first));
    // Each has opened its directory, so it has long told the kernel whose child it is.
    wait(|| {
        (1..=3)
            .all(|node| left.join(format!("node-{node}/node.toml")).exists())
            .then_some(())
    });
    kill_process(nodes[0], Signal::STOP).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    for node in nodes {
        wait(|| test_kill_process(node).is_err().then_some(()));
    }
    assert!(left.exists());
    let mut second = start(temporary.path());
    wait(|| (!left.exists()).then_some(()));
    second.kill().unwrap();
    second.wait().unwrap();
}
