//! The web that a cluster crawls, and its fetcher.

use super::{Nodes, Process, Talk};
use crate::program::fetcher;
use fakeweb::{FakeWeb, FakeWebOptions, Manifest, RunningFakeWeb};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// Least time between two contacts of a host.
pub const MIN_DELAY_MS: u32 = 100;
/// Longest time of one fetch.
pub const FETCH_TIMEOUT_MS: u64 = 3_000;
/// How long a lease lasts: a fetch and its margin fit.
const LEASE_TTL_MS: u64 = 6_000;

/// A web without hosts that a crawl has to wait for, and what there is to fetch.
pub fn web(hosts: u32, pages_per_host: u32, seed: u64) -> (RunningFakeWeb, Manifest) {
    let mut options = FakeWebOptions::new(hosts, seed);
    options.shape.max_pages_per_host = pages_per_host;
    options.features.slow_hosts = false;
    options.features.robots_errors = false;
    options.features.server_errors = false;
    options.features.truncated = false;
    options.features.flaky = false;
    options.features.crawl_delay = false;
    let manifest = Manifest::of(&options).unwrap();
    (FakeWeb::start(options).unwrap(), manifest)
}

/// How the fetcher is started.
pub fn fetcher_command(nodes: &[String], web: SocketAddr) -> Command {
    let mut command = Command::new(fetcher());
    command
        .args(["--frontier", &nodes.join(","), "--copies", "2"])
        .args(["--open-fetches", "16", "--poll-wait-ms", "500"])
        .args(["--lease-ttl-ms", &LEASE_TTL_MS.to_string()])
        .args(["--fetch-timeout-ms", &FETCH_TIMEOUT_MS.to_string()])
        .args(["--allow-net", "127.0.0.0/8", "--scope-free"])
        .args(["--resolve", &format!("*={web}")])
        .args(["--http-listen", "127.0.0.1:0"]);
    command
}

/// Starts these nodes and a fetcher, and gives them the web to crawl.
pub async fn crawl(nodes: &mut Nodes, web: &RunningFakeWeb, dir: &Path) -> (Talk, Process) {
    nodes.start_ready().await.unwrap();
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.set_up(&web.seed_url).await.unwrap();
    let command = fetcher_command(&nodes.addresses(), web.addr);
    let mut fetcher = Process::start(command, dir, "fetcher");
    fetcher.wait_ready().await.unwrap();
    (talk, fetcher)
}
