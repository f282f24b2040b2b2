//! What may not follow: each rule of growth, broken by hand.

use super::check_follows;
use crate::{Body, ShardMap, Step, command::Leave, testing::*};

/// What the invariant says, and how it is broken.
type Change = (&'static str, fn(&mut ShardMap));

/// A map with an ended job, a gone node and a moved replica.
fn grown() -> ShardMap {
    let mut map = cluster(4, 4);
    run(&mut map, joining(5, 0));
    run(&mut map, Body::Leave(Leave { node: 5 }));
    let on = nodes_of(&map, 1);
    let to = (1..=4).find(|n| !on.contains(n)).unwrap();
    let body = moving(&map, 1, on[0], to);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    map
}

#[test]
fn each_rule_of_growth_is_checked() {
    let before = grown();
    let changes: [Change; 12] = [
        ("did not raise the version", |m| {
            m.version -= 1;
            m.replica_target += 1;
        }),
        ("a counter went back", |m| m.next_shard -= 1),
        ("became another", |m| m.cluster_id += 1),
        ("is lost", |m| m.shards.retain(|s| s.id != 3)),
        ("did not grow", |m| m.shards[0].members.epoch -= 1),
        ("did not grow", |m| {
            m.shards[1].members.replicas[0].id += 1 << 16
        }),
        ("fewer voters", |m| {
            m.shards[1].members.epoch += 1;
            m.shards[1].members.replicas.truncate(2);
        }),
        ("came back", |m| {
            let old = m.shards[0].members.issued.clone();
            let members = &mut m.shards[0].members;
            members.epoch += 1;
            let gone = old
                .into_iter()
                .find(|id| !members.replicas.iter().any(|r| r.id == *id));
            members.replicas[0].id = gone.unwrap();
        }),
        ("forgot an id", |m| m.shards[0].members.issued.clear()),
        ("grew, or kept", |m| m.shards[1].first -= 1),
        ("older incarnation", |m| m.nodes[4].state = 0),
        ("after its end", |m| m.jobs[0].set_step(Step::Undone)),
    ];
    assert_eq!(check_follows(&before, &before), Ok(()));
    for (words, change) in changes {
        let mut after = before.clone();
        after.version += 1;
        change(&mut after);
        let broken = check_follows(&before, &after).unwrap_err();
        assert!(broken.what.contains(words), "{words}: {broken}");
    }
}
