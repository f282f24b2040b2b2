//! Splits: what goes on through one, what is refused, and what a crash, a late replica or a slow leader finds.

pub(super) mod held;
mod one_node;
mod refusals;
mod restarts;
mod three_nodes;
mod trio;

use std::sync::Arc;

use client::Frontier;
use proto::frontier_v1 as pb;

use super::support::*;
use crate::{FrontierNode, SplitRequest};

/// Where shard 1 is cut.
const AT: u64 = 1 << 63;
const CHILD: u64 = 2;

/// A host that stays and one that goes.
fn hosts() -> (String, String) {
    let mut hosts = (0..99).map(|i| format!("w.s{i}.example"));
    let low = hosts.find(|host| partition(&page(host, 0)) < AT);
    let high = hosts.find(|host| partition(&page(host, 0)) >= AT);
    (low.unwrap(), high.unwrap())
}

fn page(host: &str, number: u64) -> String {
    format!("http://{host}/{number}")
}

/// The split of shard 1 at [`AT`].
fn split(voters: &[u64]) -> SplitRequest {
    SplitRequest {
        shard: 1,
        epoch: 0,
        at: AT,
        child: CHILD,
        voters: voters.iter().copied().collect(),
    }
}

/// Waits until a node leads a shard and has proven it.
async fn led(node: &FrontierNode, shard: u64) {
    let is_led = || node.shard_standing(shard).is_some_and(|s| s.is_proven);
    until("the shard is led", is_led).await;
}

/// Two pages of each host, with their robots.txt read.
async fn two_hosts(frontier: &Arc<dyn Frontier>, min_delay_ms: u64) -> (String, String) {
    create_crawl(frontier, 1, min_delay_ms).await;
    let (low, high) = hosts();
    let pages = [&low, &high].map(|host| [link(&page(host, 1)), link(&page(host, 2))]);
    discover(frontier, 1, pages.concat()).await;
    let robots = frontier.lease(lease_request(1, 1, 0)).await.unwrap().leases;
    assert_eq!(robots.len(), 2);
    report(frontier, 1, robots.iter().map(good_report).collect()).await;
    (low, high)
}

/// A page of each of these hosts, leased: with one call or with two.
async fn page_leases(frontier: &Arc<dyn Frontier>) -> Vec<pb::Lease> {
    let leased = frontier.lease(lease_request(1, 2, 5_000)).await.unwrap();
    let mut leases = leased.leases;
    if leases.len() < 2 {
        let more = frontier.lease(lease_request(1, 3, 5_000)).await.unwrap();
        leases.extend(more.leases);
    }
    leases
}

/// The lease of a page of a host.
fn of_host(leases: &[pb::Lease], host: &str) -> pb::Lease {
    let is_of = |lease: &&pb::Lease| url_of(lease).contains(host);
    leases.iter().find(is_of).unwrap().clone()
}

/// What a shard says of a host.
async fn host_at(
    frontier: &Arc<dyn Frontier>,
    shard: u64,
    host: &str,
) -> Result<Option<pb::HostRecord>, client::CallError> {
    let request = pb::GetHostRequest {
        shard,
        host: host.to_owned(),
        partition: partition(&page(host, 0)),
        local: true,
    };
    Ok(frontier.get_host(request).await?.record)
}

fn codes(results: &[pb::ReportResult]) -> Vec<pb::report_result::Code> {
    results.iter().map(pb::ReportResult::code).collect()
}
