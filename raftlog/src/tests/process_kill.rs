//! SIGKILL of a real process: this test's own program, run again as a child that proposes until it is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::counter_machine::Seen;
use super::support::{PATIENCE, count, open, open_group, options, propose, sole_group};

const DIR_VARIABLE: &str = "RAFTLOG_TEST_CHILD_DIR";
const CHILD: &str = "tests::process_kill::child_that_proposes_for_ever";

/// Proposes and prints each number that was answered. Does nothing unless it is run as the child.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_proposes_for_ever() {
    let Ok(dir) = std::env::var(DIR_VARIABLE) else {
        return;
    };
    let engine = open(crate::EngineOptions {
        flush_size_bytes: 2048,
        ..options(Path::new(&dir), 1)
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    loop {
        let reply = propose(&group, "key:some bytes to fill the flush").await;
        let number = u64::from_be_bytes(reply.bytes.as_ref().try_into().unwrap());
        println!("answered {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_has_lost_nothing_it_answered() {
    let dir = tempfile::tempdir().unwrap();
    let mut total = 0;
    for round in 1..=3u64 {
        let answered = kill_after(dir.path(), total + 30 * round);
        let engine = open(options(dir.path(), 1));
        let seen: Arc<Seen> = Arc::default();
        let group = open_group(&engine, 3, &seen).await;
        group.wait_for_recovery(PATIENCE).await.unwrap();
        let counted = count(&engine, 3, "key");
        assert!(
            (answered..=answered + 1).contains(&counted),
            "{counted} applied, {answered} answered"
        );
        total = counted;
        engine.close().await;
    }
}

/// Runs the child until it has answered so much, and kills it; the last number it answered.
fn kill_after(dir: &Path, number: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--nocapture", "--test-threads=1"])
        .env(DIR_VARIABLE, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = lines.map_while(Result::ok).filter_map(|line| {
        let (_, number) = line.split_once("answered ")?;
        number.trim().parse::<u64>().ok()
    });
    let mut last = 0;
    let mut killed = false;
    for answered in numbers {
        last = answered;
        if answered >= number && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    assert!(killed, "the child ended by itself after {last}");
    last
}
