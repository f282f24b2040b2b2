//! Two disks are lost one after the other: whoever scrubs is told which pages have fewer copies, and which have none.

use super::{Nodes, crawl, web};
use crate::program::{escapement, stderr};
use serde_json::Value;
use std::process::{Command, Output};

/// Pages that are named at most.
const NAMED: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrub_tells_which_pages_lost_their_copies() {
    let dir = tempfile::tempdir().unwrap();
    let (web, _) = web(6, 24, 3);
    let mut nodes = Nodes::new(dir.path(), 3);
    let (talk, mut fetcher) = crawl(&mut nodes, &web, dir.path()).await;
    talk.wait_finished().await.unwrap();
    assert!(fetcher.terminate().await.success());

    let (code, whole) = scrub(&nodes, true);
    assert_eq!(code, Some(0), "{whole}");
    let pages = whole["copies"]["pages"].as_u64().unwrap();
    assert!(pages > NAMED as u64 && whole["copies"]["fewer"] == serde_json::json!({}));

    lose_disk(&mut nodes, 1).await;
    let (code, one) = scrub(&nodes, true);
    let halved = one["copies"]["fewer"]["1"].as_u64().unwrap();
    assert_eq!(code, Some(1), "{one}");
    assert!(halved > 0 && one["copies"]["fewer"]["0"].is_null(), "{one}");

    lose_disk(&mut nodes, 2).await;
    let (code, two) = scrub(&nodes, true);
    let fewer = &two["copies"]["fewer"];
    let lost = fewer["0"].as_u64().unwrap();
    assert_eq!(code, Some(2), "{two}");
    assert!(
        lost > 0 && lost + fewer["1"].as_u64().unwrap_or(0) <= pages,
        "{two}"
    );
    let named = two["copies"]["named"].as_array().unwrap();
    assert!(
        named.len() <= NAMED && named[0]["copies_left"] == 0,
        "{two}"
    );

    let said = scrub_output(&nodes, false);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(2));
    assert!(text.contains(&format!("{lost} have none")), "{text}");
    assert!(text.contains("0 of 2 copies left"), "{text}");
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

/// The node comes back with an empty directory, and is fed what the others know of URLs.
async fn lose_disk(nodes: &mut Nodes, number: usize) {
    nodes.kill(number);
    std::fs::remove_dir_all(nodes.dir(number)).unwrap();
    std::fs::create_dir_all(nodes.dir(number)).unwrap();
    nodes.start_ready().await.unwrap();
}

fn scrub(nodes: &Nodes, json: bool) -> (Option<i32>, Value) {
    let output = scrub_output(nodes, json);
    let value = serde_json::from_slice(&output.stdout);
    let value = value.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (output.status.code(), value)
}

fn scrub_output(nodes: &Nodes, json: bool) -> Output {
    let mut command = Command::new(escapement());
    command.args(["scrub", "--frontier", &nodes.addresses().join(",")]);
    command.args(json.then_some("--json")).output().unwrap()
}
