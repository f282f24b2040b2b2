//! The power goes between any two steps of a split: what comes back is whole, and goes on.

use std::sync::atomic::Ordering;

use pb::report_result::Code;

use super::held::{Held, image};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_any_two_steps_of_a_split_loses_nothing() {
    let (dir, held) = (tempfile::tempdir().unwrap(), Arc::new(Held::default()));
    let mut with_hook = options(dir.path(), 1);
    with_hook.engine.faults = Some(held.clone());
    let node = open(with_hook).await;
    let frontier = node.frontier();
    let (low, high) = two_hosts(&frontier, 1).await;
    let leases = page_leases(&frontier).await;
    let (stays, goes) = (of_host(&leases, &low), of_host(&leases, &high));
    // Nothing of the split is flushed, so the child cannot be created.
    held.flushes.store(true, Ordering::SeqCst);
    let before = image(dir.path());
    node.split_shard(split(&[1])).await.unwrap();
    let applied = image(dir.path());
    assert_eq!(node.known_shards(), [1, CHILD]);
    assert_eq!(node.shards(), [1], "rows first, flushed");
    held.flushes.store(false, Ordering::SeqCst);
    led(&node, CHILD).await;
    let created = image(dir.path());
    discover(&frontier, CHILD, vec![link(&page(&high, 9))]).await;
    let written = image(dir.path());
    node.close().await;

    for (name, image, shards) in [
        ("before", before, vec![1]),
        ("applied", applied, vec![1, CHILD]),
        ("created", created, vec![1, CHILD]),
        ("written", written, vec![1, CHILD]),
    ] {
        let node = open(options(image.path(), 1)).await;
        let frontier = node.frontier();
        // What was committed is applied once the node leads again; then the child is opened.
        until(name, || node.shards() == shards).await;
        for shard in &shards {
            led(&node, *shard).await;
        }
        if shards.len() == 1 {
            node.split_shard(split(&[1])).await.unwrap();
            led(&node, CHILD).await;
        }
        let more = u64::from(name == "written");
        let child = status(&frontier, CHILD).await;
        assert_eq!(child.terms.unwrap().accepted, 2 + more, "{name}");
        for (shard, lease) in [(1, &stays), (CHILD, &goes)] {
            let closed = report(&frontier, shard, vec![good_report(lease)]).await;
            assert_eq!(codes(&closed), [Code::Closed], "{name}");
            assert_conserved(&status(&frontier, shard).await);
        }
        node.close().await;
    }
}
