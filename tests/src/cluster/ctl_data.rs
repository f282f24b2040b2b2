//! The commands of `escapement ctl` about what is crawled, against real processes.

use super::ctl::Ctl;
use super::{Nodes, Talk};
use client::{Frontier, RoutedFrontier};
use proto::frontier_v1 as pb;
use serde_json::{Value, json};
use std::sync::Arc;

/// A session whose calls begin at 1.
struct Leaser {
    frontier: RoutedFrontier,
    shards: Vec<u64>,
    number: u64,
}

impl Leaser {
    async fn new(nodes: &Nodes) -> Self {
        let talk = Talk::connect(&nodes.addresses()).await;
        Self {
            frontier: RoutedFrontier::new(Arc::clone(&talk.router)),
            shards: talk.shards,
            number: 0,
        }
    }

    /// The origins that are leased now, of all shards; each is given back at once.
    async fn origins(&mut self) -> Vec<String> {
        self.number += 1;
        let mut origins = Vec::new();
        for shard in &self.shards {
            let request = pb::LeaseRequest {
                shard: *shard,
                session: vec![7; 16].into(),
                number: self.number,
                max_leases: 64,
                ttl_ms: 60_000,
                wait_ms: 0,
            };
            let answer = self.frontier.lease(request).await.unwrap();
            for lease in answer.leases {
                let Some(pb::lease::Work::Robots(robots)) = lease.work else {
                    panic!("no robots.txt is known yet");
                };
                origins.push(robots.origin);
                let items = vec![pb::ReleaseItem {
                    key: lease.key,
                    token: lease.token,
                }];
                let shard = *shard;
                let request = pb::ReleaseRequest { shard, items };
                self.frontier.release(request).await.unwrap();
            }
        }
        origins.sort();
        origins
    }
}

fn sum(queues: &Value, of: &str) -> u64 {
    let shards = queues["shards"].as_array().unwrap().iter();
    shards.map(|shard| shard[of].as_u64().unwrap()).sum()
}

const ORIGINS: [&str; 3] = ["http://a.example", "http://b.example", "http://c.d.example"];

async fn seeded(ctl: &Ctl) {
    ctl.until(&["status"], |s| {
        s["founded"] == true && s["shards_led"] == 2
    })
    .await;
    let unknown = ["seed", "http://a.example/"];
    ctl.ends_with(1, "unknown_crawl", &unknown);
    let urls = [
        "http://a.example/",
        "http://a.example/1#x",
        "http://b.example/",
    ];
    let seeds = ctl.done(&[&["seed", "--create"], &urls[..], &["http://c.d.example/"]].concat());
    assert_eq!((&seeds["new"], &seeds["known"]), (&json!(4), &json!(0)));
    let again = ctl.done(&[&["seed"], &urls[..]].concat());
    assert_eq!((&again["new"], &again["known"]), (&json!(0), &json!(3)));
    let second = ["seed", "--create", "--crawl", "2", "--priority", "9"];
    ctl.done(&[&second[..], &["http://a.example/2"]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_and_crawls_are_looked_at_held_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let ctl = Ctl {
        frontier: nodes.addresses().join(","),
    };
    seeded(&ctl).await;
    let mut leaser = Leaser::new(&nodes).await;
    shows_what_waits(&ctl);
    holds_and_lets_go(&ctl, &mut leaser).await;
    refuses_bad_input(&ctl);
    removes(&ctl, &mut leaser).await;
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

fn shows_what_waits(ctl: &Ctl) {
    let host = ctl.done(&["hosts", "a.example"]);
    assert_eq!((&host["queued"], &host["ready"]), (&json!(3), &json!(true)));
    let queues: Vec<_> = host["queues"].as_array().unwrap().iter().collect();
    assert_eq!(queues.len(), 2, "one a crawl: {host}");
    assert_eq!(queues[1]["priority"], 9);
    assert_eq!(host["robots"][0]["state"], "unknown");
    let site = ctl.done(&["hosts", "--site", "x.d.example"]);
    assert_eq!(
        (&site["hosts"], &site["longest"][0]["host"]),
        (&json!(1), &json!("c.d.example"))
    );
    let all = ctl.done(&["queues", "--top", "1"]);
    assert_eq!(
        (
            sum(&all, "accepted"),
            sum(&all, "queued"),
            sum(&all, "hosts")
        ),
        (5, 5, 3)
    );
    assert_eq!(all["longest"].as_array().unwrap().len(), 1);
    assert_eq!(all["longest"][0]["host"], "a.example");
    let second = ctl.done(&["queues", "--crawl", "2"]);
    assert_eq!(
        second["longest"],
        json!([
            { "shard": host["shard"], "crawl": 2, "host": "a.example", "queued": 1, "waits_for": "" }
        ])
    );
}

async fn holds_and_lets_go(ctl: &Ctl, leaser: &mut Leaser) {
    assert_eq!(leaser.origins().await, ORIGINS);
    ctl.done(&["block", "a.example", "--for", "1h"]);
    let host = ctl.done(&["hosts", "a.example"]);
    assert_eq!(host["waits_for"], "block");
    assert!(host["blocked_left_ms"].as_u64().unwrap() <= 3_600_000);
    ctl.done(&["delay", "a.example", "2500"]);
    ctl.done(&["pause", "b.example"]);
    assert_eq!(leaser.origins().await, ORIGINS[2..]);
    ctl.done(&["unblock", "a.example"]);
    let host = ctl.done(&["hosts", "a.example"]);
    let own = (&host["min_delay_ms"], &host["delay_ms"], &host["ready"]);
    assert_eq!(
        own,
        (&json!(2_500), &json!(2_500), &json!(true)),
        "a block's end leaves the delay"
    );
    assert_eq!(
        ctl.done(&["hosts", "b.example"])["waits_for"],
        "paused_host"
    );
    ctl.done(&["pause", "2"]);
    ctl.done(&["pause", "all"]);
    assert_eq!(
        ctl.done(&["hosts", "c.d.example"])["waits_for"],
        "paused_shard"
    );
    assert!(leaser.origins().await.is_empty());
    let resumed = ctl.done(&["resume", "all"]);
    assert_eq!(resumed["shards"], json!([1, 2]));
    assert_eq!(
        leaser.origins().await,
        [ORIGINS[0], ORIGINS[2]],
        "a host's own pause stays"
    );
    let states = ctl.done(&["queues"]);
    let crawls = states["shards"][0]["crawls"].as_array().unwrap();
    let states: Vec<_> = crawls.iter().map(|crawl| &crawl["state"]).collect();
    assert_eq!(states, ["running", "paused"], "a crawl's own pause stays");
    ctl.done(&["resume", "b.example"]);
    ctl.done(&["resume", "2"]);
    assert_eq!(leaser.origins().await, ORIGINS);
}

fn refuses_bad_input(ctl: &Ctl) {
    let before = ctl.done(&["queues"]);
    ctl.ends_with(1, "nothing is known of e.example", &["hosts", "e.example"]);
    ctl.ends_with(2, "canonical", &["hosts", "A.example"]);
    ctl.ends_with(2, "canonical", &["block", "a.example:80"]);
    ctl.ends_with(2, "required", &["hosts"]);
    ctl.ends_with(2, "366 days", &["block", "a.example", "--for", "367d"]);
    ctl.ends_with(2, "31622400000", &["delay", "a.example", "31622400001"]);
    ctl.ends_with(1, "no shard knows crawl 77", &["pause", "77"]);
    ctl.ends_with(1, "no shard knows crawl 77", &["queues", "--crawl", "77"]);
    ctl.ends_with(1, "no shard knows crawl 77", &["remove", "77", "--yes"]);
    ctl.ends_with(
        1,
        "no crawl 77",
        &["remove", "a.example", "--crawl", "77", "--yes"],
    );
    ctl.ends_with(2, "--yes", &["remove", "a.example"]);
    ctl.ends_with(2, "--yes", &["remove", "1"]);
    ctl.ends_with(
        2,
        "nothing was offered",
        &["seed", "http://f.example/", "no url"],
    );
    ctl.ends_with(2, "--file", &["seed"]);
    assert_eq!(ctl.done(&["queues"]), before, "nothing was changed");
}

async fn removes(ctl: &Ctl, leaser: &mut Leaser) {
    let url = ctl.done(&["remove", "http://a.example/1", "--yes"]);
    assert_eq!((&url["removed"], &url["leased"]), (&json!(1), &json!(0)));
    let again = ctl.done(&["remove", "http://a.example/1", "--yes"]);
    assert_eq!(again["removed"], 0);
    assert_eq!(ctl.done(&["seed", "http://a.example/1"])["known"], 1);
    let host = ctl.done(&["remove", "b.example", "--forget", "--yes"]);
    assert_eq!(host["removed"], 1);
    assert_eq!(
        ctl.done(&["seed", "http://b.example/"])["new"],
        1,
        "it was forgotten"
    );
    let crawl = ctl.done(&["remove", "1", "--yes"]);
    assert_eq!(crawl["removed"], 3);
    ctl.ends_with(1, "crawl_removed", &["seed", "http://b.example/9"]);
    ctl.ends_with(1, "crawl_removed", &["pause", "1"]);
    let left = ctl.done(&["queues"]);
    assert_eq!(
        (
            sum(&left, "accepted"),
            sum(&left, "queued"),
            sum(&left, "removed")
        ),
        (6, 1, 5)
    );
    assert_eq!(
        leaser.origins().await,
        ORIGINS[..1],
        "the other crawl goes on"
    );
}
