//! Two of three boxes are gone for good: the third goes on alone, with all that was acknowledged and applied there, and its hosts wait.

use super::{Nodes, Talk};
use crate::program::{escapement, last_json, run, stderr};
use serde_json::Value;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const URLS: usize = 300;
/// Who is left.
const SURVIVOR: usize = 2;

// case L17: acknowledgements and votes of what was lost count for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_of_three_boxes_goes_on_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.set_up("http://seed.example/").await.unwrap();
    let urls: Vec<String> = (0..URLS)
        .map(|n| format!("http://w{}.example/{n}", n % 50))
        .collect();
    let links = urls.iter().map(|url| talk.link(1, url)).collect();
    let offered = talk.router.offer_within(links, PATIENCE).await;
    assert!(offered.undelivered.is_empty());
    applied_everywhere(&talk).await;
    // What runs is not touched.
    let running = recover(&nodes, &["--all", "--yes"]);
    assert_eq!(running.status.code(), Some(1));
    assert!(
        stderr(&running).contains("must be stopped"),
        "{}",
        stderr(&running)
    );
    for number in nodes.numbers() {
        nodes.kill(number);
    }

    let unsure = recover(&nodes, &["--all"]);
    assert_eq!(unsure.status.code(), Some(1));
    assert!(stderr(&unsure).contains("--yes"), "{}", stderr(&unsure));
    let unknown = recover(&nodes, &["--shard", "77", "--yes"]);
    assert!(
        stderr(&unknown).contains("no replica of shard 77"),
        "{}",
        stderr(&unknown)
    );
    let recovered = recover(&nodes, &["--all", "--yes", "--json"]);
    assert_eq!(recovered.status.code(), Some(0), "{}", stderr(&recovered));
    assert_eq!(last_json(&recovered)["groups"].as_array().unwrap().len(), 3);

    nodes.start_by(SURVIVOR, nodes.command(SURVIVOR));
    nodes.wait_ready().await.unwrap();
    let address = nodes.addresses()[SURVIVOR - 1].clone();
    let alone = Talk::connect(std::slice::from_ref(&address)).await;
    alone.wait_leaders().await.unwrap();
    for url in urls.iter().step_by(7) {
        assert!(alone.url(1, url).await.unwrap().is_some(), "{url} is lost");
    }
    let more = vec![alone.link(1, "http://more.example/")];
    let offered = alone.router.offer_within(more, PATIENCE).await;
    assert!(offered.undelivered.is_empty());
    for shard in &alone.shards {
        let statuses = alone.statuses(*shard).await;
        let newest = statuses
            .iter()
            .max_by_key(|status| status.applied_index)
            .unwrap();
        assert_eq!(newest.counters.get("recoveries"), Some(&1));
        assert!(
            newest.next_ready_in_ms > 500_000,
            "{}",
            newest.next_ready_in_ms
        );
    }
    let shards = until(&address, |shown| {
        let all = shown["shards"].as_array().unwrap();
        all.len() == 3
            && all
                .iter()
                .all(|shard| shard["replicas"].as_array().unwrap().len() == 1)
    });
    let shards = shards.await;
    assert_eq!(shards["shards"][1]["replicas"][0]["node"], SURVIVOR);
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// Every replica of every shard has applied as much as any.
async fn applied_everywhere(talk: &Talk) {
    let until = Instant::now() + PATIENCE;
    for shard in &talk.shards {
        loop {
            let statuses = talk.statuses(*shard).await;
            let mut indexes: Vec<u64> = statuses.iter().map(|s| s.applied_index).collect();
            indexes.dedup();
            if statuses.len() == 3 && indexes.len() == 1 {
                break;
            }
            assert!(Instant::now() < until, "{indexes:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn recover(nodes: &Nodes, words: &[&str]) -> Output {
    let mut command = Command::new(escapement());
    command
        .arg("recover-unsafe")
        .arg("--dir")
        .arg(nodes.dir(SURVIVOR));
    command.args(words).output().unwrap()
}

/// The shards, once they are as wanted.
async fn until(address: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let output = run(&["ctl", "--frontier", address, "--json", "shards"]);
        let shown = output.status.success().then(|| last_json(&output));
        if let Some(shown) = shown.filter(|shown| wanted(shown)) {
            return shown;
        }
        assert!(
            Instant::now() < until,
            "the map does not follow: {}",
            stderr(&output)
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
