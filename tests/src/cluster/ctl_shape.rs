//! `escapement ctl` on where replicas are: moves, drains and pins of real processes, and what of it is refused.

use super::Nodes;
use super::ctl::Ctl;
use serde_json::Value;

const WAIT: [&str; 3] = ["--wait", "--within", "60s"];

/// Four nodes; each group has three voters.
async fn started(nodes: &mut Nodes) -> Ctl {
    nodes.start_ready().await.unwrap();
    let ctl = Ctl {
        frontier: nodes.addresses().join(","),
    };
    let is_led = |shown: &Value| {
        let mut shards = shown["shards"].as_array().unwrap().iter();
        shards.len() == 3 && shards.all(|shard| shard["leader"].is_number())
    };
    ctl.until(&["shards"], is_led).await;
    ctl
}

/// The nodes that vote in a shard.
fn voters(ctl: &Ctl, shard: usize) -> Vec<u64> {
    let shown = ctl.done(&["shards"]);
    let replicas = shown["shards"][shard]["replicas"].as_array().unwrap();
    assert!(replicas.iter().all(|replica| replica["voter"] == true));
    let nodes = replicas
        .iter()
        .map(|replica| replica["node"].as_u64().unwrap());
    let mut nodes: Vec<u64> = nodes.collect();
    nodes.sort_unstable();
    nodes
}

fn without(on: &[u64]) -> u64 {
    (1..=4).find(|node| !on.contains(node)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_moved_or_drained_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 4);
    let ctl = started(&mut nodes).await;
    let before = ctl.done(&["status"])["copy"]["version"].clone();
    let on = voters(&ctl, 1);
    let free = without(&on).to_string();
    let [first, second] = [on[0], on[1]].map(|node| node.to_string());
    let (from, to) = (first.as_str(), free.as_str());
    let refused: [(&str, &[&str]); 12] = [
        ("no shard 9", &["move", "9", "--from", from, "--to", to]),
        (
            "has shard 1 already",
            &["move", "1", "--from", from, "--to", &second],
        ),
        (
            "has no voter of shard 1",
            &["move", "1", "--from", to, "--to", from],
        ),
        ("no node 9", &["move", "1", "--from", from, "--to", "9"]),
        (
            "epoch 1, not 7",
            &["move", "1", "--from", from, "--to", to, "--epoch", "7"],
        ),
        ("has 3 voters already", &["move", "1", "--to", to]),
        ("no node 9", &["drain", "9"]),
        ("no node 9", &["replace", "9", "--yes"]),
        ("replicas", &["leave", from, "--yes"]),
        ("no shard 9", &["pin", "9", "--free"]),
        (
            "no more than a group has voters",
            &["pin", "1", "--nodes", "1,2,3,4"],
        ),
        ("has no voter of shard 1", &["prefer-leader", "1", to]),
    ];
    for (why, words) in refused {
        ctl.ends_with(1, why, words);
    }
    ctl.ends_with(2, "--yes", &["replace", from]);
    ctl.ends_with(2, "--yes", &["leave", from]);
    assert_eq!(ctl.done(&["status"])["copy"]["version"], before);
    assert_eq!(voters(&ctl, 1), on);
    assert!(nodes.terminate_all().await.iter().all(|end| end.success()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_are_moved_there_and_back_and_a_node_is_emptied_and_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 4);
    let ctl = started(&mut nodes).await;
    // Each group, group 0 too, goes to the fourth node, comes back under another id, and goes again.
    for shard in 0..3 {
        let on = voters(&ctl, shard);
        let (from, to) = (on[0], without(&on));
        for (from, to) in [(from, to), (to, from), (from, to)] {
            let (shard, from, to) = (shard.to_string(), from.to_string(), to.to_string());
            let words = ["move", &shard, "--from", &from, "--to", &to, "--pin"];
            let ended = ctl.done(&[&words[..], &WAIT].concat());
            assert_eq!(ended["jobs"][0]["state"], "done");
        }
        assert!(voters(&ctl, shard).contains(&to));
        ctl.done(&["pin", &shard.to_string(), "--free"]);
    }
    let ended = ctl.done(&[&["drain", "2"][..], &WAIT].concat());
    assert_eq!(ended["jobs"][0]["kind"], "drain");
    for shard in 0..3 {
        assert_eq!(voters(&ctl, shard), [1, 3, 4], "shard {shard}");
    }
    // What is left is needed.
    ctl.ends_with(1, "nodes would be left", &["drain", "3"]);
    ctl.done(&["leave", "2", "--yes"]);
    let shown = ctl.done(&["nodes"]);
    let states: Vec<&Value> = shown["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| &n["state"])
        .collect();
    assert_eq!(states, ["up", "gone", "up", "up"]);
    ctl.ends_with(1, "gone", &["undrain", "2"]);
}
