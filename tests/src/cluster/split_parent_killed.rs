//! A shard of a crawling cluster is split by `escapement ctl` while the process that leads it is killed: the split ends, and no
//! host and no URL notices.

use super::{MIN_DELAY_MS, Nodes, Talk, crawl, finish_unbroken, web};
use crate::program::{escapement, last_json, stderr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The shard that is split.
const PARENT: u64 = 1;
/// Shards before the split.
const SHARDS: usize = 2;
/// What takes longer does not happen.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_split_outlives_the_parents_leader_and_no_host_notices() {
    let dir = tempfile::tempdir().unwrap();
    let (web, manifest) = web(16, 40, 3);
    let mut nodes = Nodes::new(dir.path(), 3);
    let (talk, mut fetcher) = crawl(&mut nodes, &web, dir.path()).await;
    while web.requests() < 60 {
        assert!(fetcher.ended().is_none(), "{}", fetcher.log_end());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let leader = talk.leader_of(PARENT).await;
    let mut ctl = Command::new(escapement());
    ctl.args(["ctl", "--frontier", &nodes.addresses().join(","), "--json"]);
    ctl.args(["split", &PARENT.to_string(), "--middle", "--wait"]);
    let ctl = ctl.stdout(Stdio::piped()).stderr(Stdio::piped());
    let ctl = ctl.spawn().unwrap();
    // The request is on its way, or the job is at one of its first steps.
    tokio::time::sleep(Duration::from_millis(MIN_DELAY_MS.into())).await;
    nodes.kill(leader);
    let split = tokio::task::spawn_blocking(|| ctl.wait_with_output().unwrap());
    let split = split.await.unwrap();
    assert_eq!(split.status.code(), Some(0), "{}", stderr(&split));
    let job = &last_json(&split)["jobs"][0];
    assert_eq!(
        (&job["state"], &job["shard"]),
        (&"done".into(), &PARENT.into())
    );
    let child = job["child"].as_u64().unwrap();

    nodes.start_ready().await.unwrap();
    let talk = with_child(&nodes.addresses(), child).await;
    finish_unbroken(&talk, &web, &manifest).await;
    for status in talk.statuses(child).await {
        let terms = status.terms.unwrap_or_default();
        assert!(terms.accepted > 0, "the child has nothing: {terms:?}");
    }
    assert!(fetcher.terminate().await.success());
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// The cluster by a map that has the child.
async fn with_child(addresses: &[String], child: u64) -> Talk {
    let until = Instant::now() + PATIENCE;
    loop {
        let talk = Talk::connect(addresses).await;
        if talk.shards.contains(&child) && talk.shards.len() == SHARDS + 1 {
            return talk;
        }
        assert!(Instant::now() < until, "the map has only {:?}", talk.shards);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
