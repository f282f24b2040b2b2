//! A split that is refused changes nothing and says why.

use machine::command::split::SplitRefusal;

use super::*;
use crate::{SplitAim, SplitError};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_splits_are_refused_by_name_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let node = open(options(dir.path(), 1)).await;
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let refused = async |request| node.split_shard(request).await.unwrap_err();
    let asked = split(&[1]);
    let unknown = SplitRequest {
        shard: 9,
        ..asked.clone()
    };
    assert_eq!(refused(unknown).await, SplitError::UnknownShard(9));
    let members = refused(split(&[1, 2])).await;
    assert!(matches!(members, SplitError::Members { .. }), "{members}");
    assert!(members.to_string().contains("{1}"), "{members}");
    assert!(!members.is_final(), "they may settle");
    for (request, refusal) in [
        (
            SplitRequest {
                at: 0,
                ..asked.clone()
            },
            SplitRefusal::NothingLeft,
        ),
        (
            SplitRequest {
                child: 1,
                ..asked.clone()
            },
            SplitRefusal::UsedChild,
        ),
        (
            SplitRequest {
                child: 0,
                ..asked.clone()
            },
            SplitRefusal::UnknownChild,
        ),
    ] {
        assert_eq!(refused(request).await, SplitError::Refused(refusal));
    }
    let map = frontier.shard_map(pb::ShardMapRequest {}).await.unwrap();
    assert_eq!(
        (map.version, map.shards.len(), node.shards()),
        (1, 1, vec![1])
    );

    let done = node.split_shard(asked.clone()).await.unwrap();
    // A second split meanwhile, by a plan of before.
    let stale = SplitRequest {
        at: 5,
        child: 3,
        ..asked.clone()
    };
    let stale = refused(stale).await;
    assert!(stale.to_string().contains("other_split"), "{stale}");
    assert!(stale.is_final());
    let outside = SplitRequest {
        epoch: 1,
        at: AT,
        child: 3,
        ..asked
    };
    let (first, last) = (0, AT - 1);
    assert_eq!(
        refused(outside).await,
        SplitError::Refused(SplitRefusal::OutsideRange { first, last })
    );
    led(&node, done.child).await;
    assert_eq!(node.shards(), [1, CHILD]);
    let nowhere = node.split_points(1, SplitAim::Around(7)).await.unwrap();
    assert_eq!((nowhere.points, nowhere.last), (Vec::new(), AT - 1));
    assert!(node.shard_standing(3).is_none());
    node.close().await;
}
