//! Jobs whose driver dies at each of its steps.

use std::collections::BTreeSet;
use std::sync::Arc;

use proto::admin_v1 as pb;
use shard_map::{ShardMap, Step};

use super::cluster::{Cluster, split_at};
use super::fake_shards::{FakeShards, Point};
use crate::map::{Shaper, SplitOrder};

fn shaper(shards: &Arc<FakeShards>) -> Option<Arc<dyn Shaper>> {
    Some(Arc::clone(shards) as Arc<dyn Shaper>)
}

/// The driver dies at a point; another one finishes, and the first comes back to the same map.
async fn killed_at(point: Point) {
    let shards = FakeShards::holding(point);
    let mut cluster = Cluster::start(3, 2, shaper(&shards)).await;
    let asked = cluster.follower().await;
    let job = cluster
        .split(asked, split_at(7, 1, 1 << 40))
        .await
        .unwrap()
        .job;
    shards.held().await;
    let driver = cluster.leader().await;
    cluster.kill(driver).await;
    cluster.wait_ended(job).await;
    let other = *cluster.up.keys().next().unwrap();
    let map = cluster.view(other);
    let ended = map.job(job).unwrap();
    assert_eq!(ended.step(), Step::Done, "{point:?}");
    let ranges: Vec<_> = map.shards.iter().map(|s| (s.id, s.first)).collect();
    assert_eq!(ranges, [(1, 0), (3, 1 << 40), (2, 1 << 63)], "{point:?}");
    let order = SplitOrder {
        shard: 1,
        epoch: 1,
        at: 1 << 40,
        child: 3,
        voters: BTreeSet::from([1, 2, 3]),
    };
    let orders = shards.orders();
    assert!(
        !orders.is_empty() && orders.iter().all(|o| *o == order),
        "{orders:?}"
    );
    // Who was killed comes back behind the others, and catches up.
    cluster.start_node(u64::from(driver)).await;
    cluster
        .wait_views("the old driver's copy", |view| *view == *map)
        .await;
    cluster.close_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_before_the_parent_is_told() {
    killed_at(Point::BeforeSplit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_after_the_parent_has_split() {
    killed_at(Point::AfterSplit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_while_the_child_is_made() {
    killed_at(Point::AtCreated).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_dies_while_the_child_elects_its_leader() {
    killed_at(Point::AtLed).await;
}

/// A driver that was cut off goes on with a job that another one has finished meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposed_driver_changes_nothing_any_more() {
    let shards = FakeShards::holding(Point::AfterSplit);
    let cluster = Cluster::start(3, 1, shaper(&shards)).await;
    let job = cluster.split(1, split_at(7, 1, 99)).await.unwrap().job;
    shards.held().await;
    let deposed = cluster.leader().await;
    cluster.network.isolate(u64::from(deposed));
    let is_done = |map: &ShardMap| map.job(job).is_some_and(|job| job.step() == Step::Done);
    let finished = cluster.wait("the end of the job elsewhere", |cluster| {
        let mut others = cluster.up.keys().filter(|node| **node != deposed);
        let views = others.all(|node| is_done(&cluster.view(*node)));
        views.then(|| cluster.view(deposed % 3 + 1))
    });
    let finished = finished.await;
    assert!(!is_done(&cluster.view(deposed)), "it heard nothing of it");
    shards.release();
    // It says that its step is done, under a leadership that is over.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    cluster.network.heal();
    cluster.wait_views("one map", |map| *map == *finished).await;
    let orders = shards.orders();
    assert!(orders.len() > 1, "both told the parent");
    assert!(orders.iter().all(|order| *order == orders[0]), "{orders:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_split_that_the_parent_refuses_is_undone_and_says_why() {
    let shards = FakeShards::refusing("the parent has other voters");
    let cluster = Cluster::start(3, 1, shaper(&shards)).await;
    let before = cluster.view(1);
    let job = cluster.split(1, split_at(7, 1, 99)).await.unwrap().job;
    cluster.wait_ended(job).await;
    let map = cluster.view(2);
    let undone = map.job(job).unwrap();
    assert_eq!(undone.step(), Step::Undone);
    assert_eq!(undone.reason, "the parent has other voters");
    assert_eq!(map.shards, before.shards);
    let shown = cluster
        .admin(3)
        .jobs(pb::JobsRequest { local: true, job })
        .await;
    let shown = shown.unwrap().into_inner().jobs;
    assert_eq!(shown[0].state(), pb::JobState::Undone);
    assert_eq!((shown[0].kind(), shown[0].shard), (pb::JobKind::Split, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_alone_takes_two_jobs_that_follow_each_other() {
    let shards = Arc::new(FakeShards::default());
    let cluster = Cluster::start(3, 1, shaper(&shards)).await;
    let request = pb::SplitRequest {
        point: Some(pb::split_request::Point::AroundHost(
            "www.example.org".to_owned(),
        )),
        ..split_at(7, 1, 0)
    };
    let first = cluster.split(2, request).await.unwrap().job;
    cluster.wait_ended(first).await;
    cluster.wait_ended(first + 1).await;
    let map = cluster.view(1);
    // The site is example.org, whatever the host.
    let suffixes = urlkey::SuffixList::shipped();
    let site = urlkey::partition_hash(&suffixes.site("www.example.org")).0;
    let alone = map.owner(site).unwrap();
    assert_eq!((alone.first, alone.last), (site, site));
    assert_eq!(map.shards.len(), 3);
}

/// All nodes are stopped in the middle of a job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_goes_on_after_a_restart_of_all_nodes() {
    let shards = FakeShards::holding(Point::AtCreated);
    let mut cluster = Cluster::start(3, 1, shaper(&shards)).await;
    let job = cluster.split(1, split_at(7, 1, 99)).await.unwrap().job;
    shards.held().await;
    let before = cluster.view(1).version;
    cluster.close_all().await;
    cluster.start_all().await;
    cluster.wait_ended(job).await;
    let map = cluster.view(3);
    assert_eq!(map.job(job).unwrap().step(), Step::Done);
    assert!(map.version > before && map.shards.len() == 2);
    cluster.close_all().await;
}
