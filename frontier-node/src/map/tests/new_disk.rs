//! A node loses its disk: it comes back to group 0 as to every shard, and the map follows.

use std::time::Duration;

use shard_map::Step;

use super::cluster::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_disk_is_entered_in_the_map_once_its_replicas_vote_again() {
    let mut cluster = Cluster::start(3, 2, None).await;
    cluster.kill(2).await;
    let replica = cluster.wipe(2);
    cluster.start_node(replica).await;
    for group in 0..=2 {
        take_place(&cluster, group, replica).await;
    }
    cluster
        .wait_views("the new replicas in the map", |map| {
            let of = |members: &shard_map::Members| {
                members.voters().map(|r| r.id).collect::<Vec<_>>() == [1, 3, replica]
            };
            map.groups().all(|(_, members)| of(members)) && map.running_jobs().next().is_none()
        })
        .await;
    let map = cluster.view(2);
    assert_eq!(map.node(2).unwrap().incarnation, 1);
    assert_eq!(map.jobs.len(), 3);
    assert!(map.jobs.iter().all(|job| job.step() == Step::Done));
    cluster.close_all().await;
}

/// As the node that came back does it: asks everybody until the leader says that it is done.
async fn take_place(cluster: &Cluster, group: u64, replica: u64) {
    for _ in 0..500 {
        for up in cluster.up.values() {
            if matches!(up.node.replace(group, replica).await, Ok(None)) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("replica {replica} has no place in group {group}");
}
