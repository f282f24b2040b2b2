//! A cluster is lost in the middle of a crawl, and a new one of another shape goes on from its backup: nothing is lost, and no host
//! is contacted before the longest lease is over that the lost cluster may have granted.

use super::{
    MIN_DELAY_MS, Nodes, Process, Talk, crawl, fetcher_command, judge_pages, judge_urls, web,
};
use crate::program::{last_json, run, stderr};
use fakeweb::{Arrival, CheckOptions, Manifest, check, monotonic_ns};
use proto::frontier_v1 as pb;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Shards of the new cluster: the lost one had two.
const SHARDS: u32 = 5;
/// The longest lease, and a delay.
const JUMP_MS: u64 = 601_000 + 10_000;
/// How long the new cluster is watched while it must leave all hosts alone.
const WATCHED: Duration = Duration::from_secs(4);

// P1, P2; cases L17 and L29: votes and leases of what was lost count for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_cluster_goes_on_in_another_shape() {
    let dir = tempfile::tempdir().unwrap();
    let (web, manifest) = web(24, 24, 5);
    let mut nodes = Nodes::new(dir.path(), 3);
    let (_, mut fetcher) = crawl(&mut nodes, &web, dir.path()).await;
    contacted(&web, 80, &mut fetcher).await;
    let backup = dir.path().join("backup");
    let backup = backup.to_str().unwrap();
    let began_ns = monotonic_ns();
    let taken = done(&nodes, &["backup", backup]);
    assert_eq!(taken["shards"], 2);
    // What happens from here on is lost.
    let more = web.requests() + 40;
    contacted(&web, more, &mut fetcher).await;
    fetcher.kill();
    for number in nodes.numbers() {
        nodes.kill(number);
        wipe(&nodes.dir(number));
    }

    let mut nodes = nodes.with_shards(SHARDS);
    start(&mut nodes, backup, &[]).await;
    let restored = done(&nodes, &["restore", backup]);
    assert_eq!(restored["shards"], SHARDS);
    assert!(
        restored["hosts_wait_ms"].as_u64().unwrap() > 590_000,
        "{restored}"
    );
    let lost_ns = monotonic_ns();
    let mut fetcher = start_fetcher(&nodes, &web, dir.path()).await;
    tokio::time::sleep(WATCHED).await;
    let early = web.arrivals().into_iter().filter(|a| a.t_ns > lost_ns);
    assert_eq!(early.count(), 0, "hosts wait for leases that may be lost");

    // The same nodes ten minutes later.
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
    let jump = JUMP_MS.to_string();
    start(&mut nodes, backup, &["--test-clock-jump", &jump]).await;
    let talk = Talk::connect(&nodes.addresses()).await;
    assert_eq!(talk.shards.len(), SHARDS as usize);
    let urls = talk.wait_finished().await.unwrap();
    let mut broken = Vec::new();
    judge_urls(&talk, &[], &mut broken).await;
    judge_pages(&talk, &urls, &mut broken).await;
    judge(web.arrivals(), &manifest, &urls, began_ns, &mut broken);
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(fetcher.terminate().await.success());
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// No contact is early and none is missing; what was asked for again was asked for since the backup began, or leased then.
fn judge(
    arrivals: Vec<Arrival>,
    manifest: &Manifest,
    urls: &[pb::ListedUrl],
    began_ns: u64,
    broken: &mut Vec<String>,
) {
    // A lease that is out when a backup begins was asked for no longer ago than it lasts.
    let from_ns = began_ns - 6_000_000_000;
    let of_the_time: BTreeSet<String> = arrivals
        .iter()
        .filter(|arrival| arrival.t_ns > from_ns)
        .map(|arrival| format!("http://{}{}", arrival.host, arrival.path))
        .collect();
    let options = CheckOptions {
        min_delay_ms: MIN_DELAY_MS,
        ..CheckOptions::default()
    };
    let report = check(arrivals, manifest, &options);
    let totals = &report.totals;
    let unexplained = report.repeats.iter().filter(|repeat| {
        let plain = repeat.url.replacen("https://", "http://", 1);
        !of_the_time.contains(&plain)
    });
    let unexplained = unexplained.count();
    if totals.early_contacts + totals.unexpected + totals.missing > 0 || unexplained > 0 {
        let known = urls.len();
        broken.push(format!(
            "{report}; {unexplained} unexplained repeats, {known} URLs known"
        ));
    }
}

async fn contacted(web: &fakeweb::RunningFakeWeb, requests: u64, fetcher: &mut Process) {
    while web.requests() < requests {
        assert!(fetcher.ended().is_none(), "{}", fetcher.log_end());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Everything but the pages, which no backup has.
fn wipe(dir: &Path) {
    for part in ["log", "state", "staging"] {
        std::fs::remove_dir_all(dir.join(part)).unwrap();
    }
    for file in ["node.toml", "peers.toml"] {
        std::fs::remove_file(dir.join(file)).unwrap();
    }
    assert!(dir.join("pages").exists());
}

/// Starts the nodes with the backup's secret.
async fn start(nodes: &mut Nodes, backup: &str, more: &[&str]) {
    for number in nodes.numbers() {
        let mut command: Command = nodes.command(number);
        command.args(["--fingerprint-secret", &format!("{backup}/secret")]);
        command.args(more);
        nodes.start_by(number, command);
    }
    nodes.wait_ready().await.unwrap();
}

async fn start_fetcher(nodes: &Nodes, web: &fakeweb::RunningFakeWeb, dir: &Path) -> Process {
    let command = fetcher_command(&nodes.addresses(), web.addr);
    let mut fetcher = Process::start(command, dir, "fetcher-2");
    fetcher.wait_ready().await.unwrap();
    fetcher
}

/// What a command of `ctl` that must be done shows.
fn done(nodes: &Nodes, words: &[&str]) -> Value {
    let frontier = nodes.addresses().join(",");
    let output = run(&[&["ctl", "--frontier", &frontier, "--json"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    last_json(&output)
}
