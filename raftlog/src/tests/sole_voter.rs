//! A replica whose group lost its quorum for good goes on alone, under an id that the others do not know.

use bytes::Bytes;

use super::cluster::{close_all, cluster_of, lead, propose_many, rows, temp_dirs};
use super::removal::returned;
use super::support::{count, leads, open, open_group, options, propose, until};
use crate::testing::LocalNetwork;
use crate::{Engine, GroupError};

// case L17: votes and acknowledgements of what was lost count for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_replica_goes_on_and_the_lost_ones_do_not_reach_it() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, options).await;
    let (leader, _) = lead(&nodes).await;
    propose_many(&nodes[leader].group, "key", 30).await;
    until("all have all", || {
        nodes.iter().all(|node| rows(node) == rows(&nodes[leader]))
    })
    .await;
    let known = rows(&nodes[0]);
    close_all(nodes).await;

    let replica = returned(1, 256);
    let engine = open(options(dirs[0].path(), 1));
    let payloads = vec![Bytes::from_static(b"first of all")];
    let made = engine.make_sole_voter(7, replica, payloads).await.unwrap();
    assert!(made.last_index >= 30 && made.applied_index <= made.last_index);
    // Not twice, and not under an id of before.
    for old in [1, replica] {
        let again = engine.make_sole_voter(7, old, Vec::new()).await;
        assert!(matches!(again, Err(GroupError::Removed { .. })));
    }
    let other = engine
        .make_sole_voter(7, returned(2, 300), Vec::new())
        .await;
    assert!(matches!(other, Err(GroupError::Invalid { .. })));
    let unknown = engine
        .make_sole_voter(8, returned(1, 300), Vec::new())
        .await;
    assert!(matches!(unknown, Err(GroupError::Unknown(8))));
    engine.close().await;

    // All come back after all: two with the old membership, one alone.
    let network = LocalNetwork::default();
    let nodes = cluster_of(&network, &dirs[1..], |dir, id| options(dir, id + 1)).await;
    let seen = std::sync::Arc::default();
    let engine = Engine::open(options(dirs[0].path(), 1), network.transport(1)).unwrap();
    network.attach(&engine);
    let alone = open_group(&engine, 7, &seen).await;
    leads(&alone).await;
    assert_eq!(alone.replica(), replica);
    let status = alone.status();
    assert_eq!(status.voters.iter().copied().collect::<Vec<_>>(), [replica]);
    propose(&alone, "alone").await;
    assert_eq!(count(&engine, 7, "first of all"), 1);
    assert_eq!(count(&engine, 7, "alone"), 1);
    for (key, _) in &known {
        assert!(engine.state().get(key).unwrap().is_some());
    }
    let (leader, _) = lead(&nodes).await;
    propose(&nodes[leader].group, "the others").await;
    assert_eq!(count(&engine, 7, "the others"), 0);
    assert_eq!(alone.status().voters, status.voters);
    drop(alone);
    engine.close().await;
    close_all(nodes).await;
}
