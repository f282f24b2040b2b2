//! `escapement ctl` against real processes: what it shows, what it changes, and its exit codes.

use super::Nodes;
use crate::program::{last_json, run, stderr};
use serde_json::Value;
use std::process::Output;
use std::time::Duration;

const LOOKS: usize = 150;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The program, with the addresses of a cluster.
pub(super) struct Ctl {
    pub(super) frontier: String,
}

impl Ctl {
    pub(super) fn run(&self, words: &[&str]) -> Output {
        let all = ["ctl", "--frontier", &self.frontier, "--json"];
        run(&[&all[..], words].concat())
    }

    /// What a command that must be done shows.
    pub(super) fn done(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{words:?}: {}",
            stderr(&output)
        );
        last_json(&output)
    }

    /// A command that must not be done.
    pub(super) fn ends_with(&self, code: i32, why: &str, words: &[&str]) {
        let output = self.run(words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: {said}");
    }

    pub(super) async fn until(&self, words: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..LOOKS {
            let shown = self.done(words);
            if wanted(&shown) {
                return shown;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("{words:?} does not show what is waited for");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctl_shows_a_cluster_and_hands_leaderships_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 3);
    nodes.start_ready().await.unwrap();
    let ctl = Ctl {
        frontier: nodes.addresses().join(","),
    };
    let status = ctl.until(&["status"], |s| {
        s["founded"] == true && s["shards_led"] == 2
    });
    let status = status.await;
    assert_eq!(
        (&status["nodes_up"], &status["shards"]),
        (&3.into(), &2.into())
    );
    assert_eq!(
        status["copy"]["proven"], true,
        "the leader of group 0 was asked"
    );
    let listed = ctl.until(&["nodes"], |s| {
        let all = s["nodes"].as_array().unwrap();
        all.len() == 3 && all.iter().all(|n| n["linked"] == true)
    });
    for (node, address) in listed.await["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .zip(nodes.addresses())
    {
        assert_eq!(node["address"], *address);
        assert_eq!(
            (&node["replicas"], &node["state"]),
            (&3.into(), &"up".into())
        );
    }
    let shards = ctl.done(&["shards"]);
    assert_eq!(shards["shards"][2]["first"], "8000000000000000");
    // Each shard's leader, group 0's too, goes to the next node.
    for shard in 0..3 {
        let leader = ctl
            .until(&["shards"], |s| s["shards"][shard]["leader"].is_number())
            .await;
        let to = leader["shards"][shard]["leader"].as_u64().unwrap() % 3 + 1;
        let words = [
            "transfer-leader",
            &shard.to_string(),
            &to.to_string(),
            "--wait",
            "--within",
            "20s",
        ];
        assert_eq!(ctl.done(&words)["leads"], true);
    }
    ctl.ends_with(1, "no shard 9", &["split", "9", "--at", "5"]);
    ctl.ends_with(
        1,
        "cannot be split",
        &["split", "1", "--at", "8000000000000000"],
    );
    ctl.ends_with(
        1,
        "epoch 1, not 4",
        &["split", "1", "--at", "5", "--epoch", "4"],
    );
    ctl.ends_with(1, "no job 3", &["jobs", "3"]);
    ctl.ends_with(1, "no job 3", &["cancel-job", "3"]);
    ctl.ends_with(1, "no node 9", &["transfer-leader", "1", "9"]);
    ctl.ends_with(2, "canonical", &["split", "1", "--around", "a.example:80"]);
    ctl.ends_with(2, "--at", &["split", "1"]);
    let after = ctl.done(&["status"]);
    assert_eq!(
        after["copy"]["version"], status["copy"]["version"],
        "nothing was changed"
    );
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}
