//! A node loses its disk: each of its groups moves from the lost disk to the new one.

use shard_map::Step;

use super::cluster::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_disk_is_made_good_by_a_move_of_each_group() {
    let mut cluster = Cluster::start(3, 2, None).await;
    cluster.kill(2).await;
    let replica = cluster.wipe(2);
    cluster.start_node(replica).await;
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
