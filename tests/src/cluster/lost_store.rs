//! `ctl lost-store` and `ctl duplicates` after a crawl: pages that lost their last copy, and no others, are fetched again, and no
//! host is contacted early for it.

use super::ctl::Ctl;
use super::{
    MIN_DELAY_MS, Nodes, Process, Talk, crawl, fetcher_command, judge_pages, judge_urls, web,
};
use crate::program::{escapement, stderr};
use fakeweb::{AllowedRepeats, CheckOptions, check};
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_had_its_last_copy_in_a_lost_store_is_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let (web, manifest) = web(8, 48, 3);
    let mut nodes = Nodes::new(dir.path(), 3);
    let (talk, mut fetcher) = crawl(&mut nodes, &web, dir.path()).await;
    let urls = talk.wait_finished().await.unwrap();
    assert!(fetcher.terminate().await.success());
    let ctl = Ctl {
        frontier: nodes.addresses().join(","),
    };
    finds_duplicates(&ctl, &urls);
    refuses(&ctl, &talk).await;

    lose_disk(&mut nodes, 1).await;
    assert_eq!(requeued(&ctl, "1"), 0, "every page has another copy");
    votes_again(&ctl, 1).await;
    lose_disk(&mut nodes, 2).await;
    let lost = alone_in(&urls, &BTreeSet::from([1, 2]));
    assert!(!lost.is_empty());
    assert_eq!(requeued(&ctl, "2"), lost.len() as u64);
    assert_eq!(requeued(&ctl, "2"), 0, "once is enough");
    for url in &lost {
        let record = talk.url(super::CRAWL, url).await.unwrap().unwrap();
        assert_eq!(record.state(), pb::url_record::State::Queued, "{url}");
    }

    let command = fetcher_command(&nodes.addresses(), web.addr);
    let mut fetcher = Process::start(command, dir.path(), "fetcher-again");
    fetcher.wait_ready().await.unwrap();
    let urls = talk.wait_finished().await.unwrap();
    assert!(fetcher.terminate().await.success());
    assert!(alone_in(&urls, &BTreeSet::from([1, 2])).is_empty());
    let mut broken = Vec::new();
    judge_urls(&talk, &[], &mut broken).await;
    judge_pages(&talk, &urls, &mut broken).await;
    assert!(broken.is_empty(), "{broken:#?}");
    let options = CheckOptions {
        min_delay_ms: MIN_DELAY_MS,
        allowed_repeats: lost
            .iter()
            .map(|url| (url.clone(), 1))
            .collect::<AllowedRepeats>(),
        // A robots file may be out of date by then.
        robots_attempts: 2,
        ..CheckOptions::default()
    };
    let report = check(web.arrivals(), &manifest, &options);
    assert_eq!(
        report.totals.early_contacts + report.totals.missing,
        0,
        "{report}"
    );
    assert!(report.repeats.is_empty(), "{report}");
    assert_eq!(without_copies(&nodes), Value::Null);
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// URLs whose page is in these stores and no other.
fn alone_in(urls: &[pb::ListedUrl], stores: &BTreeSet<u32>) -> Vec<String> {
    let records = urls.iter().filter_map(|url| url.record.as_ref());
    let stored = records.filter(|record| !record.stores.is_empty());
    let alone = stored.filter(|record| record.stores.iter().all(|id| stores.contains(id)));
    alone.map(|record| record.url.clone()).collect()
}

fn requeued(ctl: &Ctl, store: &str) -> u64 {
    let shown = ctl.done(&["lost-store", store, "--yes"]);
    assert_eq!(
        (&shown["waiting"], &shown["ended"]),
        (&json!(0), &json!(0)),
        "{shown}"
    );
    shown["requeued"].as_u64().unwrap()
}

async fn refuses(ctl: &Ctl, talk: &Talk) {
    ctl.ends_with(2, "--yes", &["lost-store", "1"]);
    ctl.ends_with(1, "it is not lost", &["lost-store", "1", "--yes"]);
    ctl.ends_with(1, "no node has had store 9", &["lost-store", "9", "--yes"]);
    // The second disk of node 1, which has lost none.
    ctl.ends_with(1, "no node has had", &["lost-store", "65537", "--yes"]);
    ctl.ends_with(2, "0", &["lost-store", "0", "--yes"]);
    let nodes = talk.router.nodes().await.unwrap().nodes;
    let stores: Vec<u32> = nodes.iter().map(|node| node.store_id).collect();
    assert_eq!(stores, [1, 2, 3], "nothing was noted");
}

/// Payloads and pages, as the records say them.
fn finds_duplicates(ctl: &Ctl, urls: &[pb::ListedUrl]) {
    let mut by_digest: BTreeMap<&[u8], u64> = BTreeMap::new();
    let records = urls.iter().filter_map(|url| url.record.as_ref());
    for record in records.filter(|r| r.payload_size_bytes > 0 && !r.digest.is_empty()) {
        *by_digest.entry(&record.digest).or_default() += 1;
    }
    let several: Vec<u64> = by_digest
        .values()
        .copied()
        .filter(|count| *count > 1)
        .collect();
    assert!(
        !several.is_empty(),
        "the web has payloads under several URLs"
    );
    let found = ctl.done(&["duplicates", "--top", "1000"]);
    assert_eq!(found["pages"], by_digest.values().sum::<u64>());
    assert_eq!(found["payloads"], several.len());
    assert_eq!(
        found["copies"],
        several.iter().map(|count| count - 1).sum::<u64>()
    );
    assert_eq!(found["passed_over"], 0);
    let counts = found["groups"].as_array().unwrap().iter();
    let mut counts: Vec<u64> = counts
        .map(|group| group["count"].as_u64().unwrap())
        .collect();
    let mut several = several;
    several.sort_unstable();
    counts.sort_unstable();
    assert_eq!(counts, several);
    let other = ctl.done(&["duplicates", "--crawl", "55"]);
    assert_eq!(
        (&other["pages"], &other["payloads"]),
        (&json!(0), &json!(0))
    );
}

/// Until a node that lost its disk once votes in every group: before, the loss of another one is the loss of a quorum.
async fn votes_again(ctl: &Ctl, node: u64) {
    let votes = |shard: &Value| {
        let replicas = shard["replicas"].as_array().unwrap();
        let is_new = |replica: &Value| replica["replica"].as_str().unwrap().starts_with("00000001");
        let mut of_node = replicas.iter().filter(|replica| replica["node"] == node);
        replicas.len() == 3 && of_node.any(|replica| is_new(replica) && replica["voter"] == true)
    };
    ctl.until(&["shards"], |shown| {
        shown["shards"].as_array().unwrap().iter().all(votes)
    })
    .await;
}

/// The node comes back with an empty directory.
async fn lose_disk(nodes: &mut Nodes, number: usize) {
    nodes.kill(number);
    std::fs::remove_dir_all(nodes.dir(number)).unwrap();
    std::fs::create_dir_all(nodes.dir(number)).unwrap();
    nodes.start_ready().await.unwrap();
}

/// Pages without any copy, as a scrub counts them.
fn without_copies(nodes: &Nodes) -> Value {
    let mut command = Command::new(escapement());
    command.args([
        "scrub",
        "--json",
        "--frontier",
        &nodes.addresses().join(","),
    ]);
    let output = command.output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    shown["copies"]["fewer"]["0"].clone()
}
