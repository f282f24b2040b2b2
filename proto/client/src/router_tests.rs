//! Tests of routing, hints and identity.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::Frontier;
use crate::limits::SEARCH_TURN_MS;
use crate::testing::{Scripted, all, link, map};
use pb::discover_result::Code;
use std::sync::atomic::{AtomicUsize, Ordering};

fn options() -> RouterOptions {
    RouterOptions {
        retry_pause_ms: (1, 4),
        ..RouterOptions::new(SuffixList::shipped())
    }
}

#[tokio::test]
async fn another_identity_is_refused_by_name() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |r| {
        Ok(all(r, Code::New))
    }));
    frontier.map.lock().identity = Some(pb::Identity {
        canonicalizer_version: 999,
        suffix_list_digest: 0,
    });
    let peers = vec![Peer::local(frontier.clone())];
    let error = Router::connect(peers.clone(), options())
        .await
        .err()
        .unwrap();
    assert_eq!(
        error,
        RouterError::Canonicalizer {
            theirs: 999,
            ours: CANONICALIZER_VERSION
        }
    );
    let suffix_list_digest = 7;
    let identity = pb::Identity {
        canonicalizer_version: CANONICALIZER_VERSION,
        suffix_list_digest,
    };
    frontier.map.lock().identity = Some(identity);
    let error = Router::connect(peers, options()).await.err().unwrap();
    assert!(
        matches!(error, RouterError::SuffixList { theirs: 7, .. }),
        "{error}"
    );
    assert_eq!(
        Router::connect(Vec::new(), options()).await.err().unwrap(),
        RouterError::NoPeers
    );
}

#[tokio::test]
async fn a_hint_leads_to_the_leader_and_is_remembered() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refusals);
    let follower = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(CallError::NotLeader {
            leader_address: "c:3".into(),
        })
    }));
    let other = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |_| {
        Err(CallError::Unavailable {
            reason: "wrong peer".into(),
            retry_after_ms: 0,
        })
    }));
    let leader = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |r| {
        Ok(all(r, Code::New))
    }));
    let peer = |address: &str, frontier: &Arc<Scripted>| Peer {
        address: address.into(),
        frontier: Arc::clone(frontier) as Arc<dyn Frontier>,
    };
    let peers = vec![
        peer("a:1", &follower),
        peer("b:2", &other),
        peer("c:3", &leader),
    ];
    let router = Router::connect(peers, options()).await.unwrap();
    for _ in 0..3 {
        let offered = router.offer(vec![link(5, "http://a.example/")]).await;
        assert_eq!(offered.results[0].as_ref().unwrap().code(), Code::New);
    }
    assert_eq!(refusals.load(Ordering::Relaxed), 1);
    assert_eq!(leader.asked.lock().len(), 3);
    assert!(other.asked.lock().is_empty());
}

#[tokio::test]
async fn without_a_hint_the_peers_are_asked_in_turn() {
    let nobody = || {
        Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |_| {
            Err(CallError::NotLeader {
                leader_address: String::new(),
            })
        }))
    };
    let (first, second) = (nobody(), nobody());
    let peers = vec![Peer::local(first.clone()), Peer::local(second.clone())];
    let router = Router::connect(peers, options()).await.unwrap();
    let limit = Duration::from_millis(20 * SEARCH_TURN_MS);
    let offered = router
        .offer_within(vec![link(5, "http://a.example/")], limit)
        .await;
    assert_eq!(offered.undelivered.len(), 1);
    let asked = (first.asked.lock().len(), second.asked.lock().len());
    assert!(asked.0.abs_diff(asked.1) <= 1 && asked.0 <= 11, "{asked:?}");
}

#[tokio::test]
async fn an_older_map_never_replaces_a_newer_one() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |r| {
        Ok(all(r, Code::New))
    }));
    *frontier.map.lock() = map(5, &[(1, 0, 9), (2, 10, u64::MAX)]);
    let router = Router::connect(vec![Peer::local(frontier.clone())], options())
        .await
        .unwrap();
    *frontier.map.lock() = map(4, &[(1, 0, u64::MAX)]);
    router.refresh().await.unwrap();
    assert_eq!(
        (
            router.map_version(),
            router.shards().len(),
            router.owner(10)
        ),
        (5, 2, Some(2))
    );
}

#[tokio::test]
async fn lookups_go_to_the_owner_of_the_site() {
    let half = u64::MAX / 2;
    let frontier = Arc::new(Scripted::new(
        &[(1, 0, half), (2, half + 1, u64::MAX)],
        |r| Ok(all(r, Code::New)),
    ));
    let router = Router::connect(vec![Peer::local(frontier)], options())
        .await
        .unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..32 {
        let host = format!("www.site{i}.example");
        let owner = if router.partition_of_host(&host) <= half {
            1
        } else {
            2
        };
        assert_eq!(
            router
                .get_url(1, &format!("HTTP://{host}:80/x#y"))
                .await
                .unwrap()
                .applied_index,
            owner
        );
        assert_eq!(router.get_host(&host).await.unwrap().applied_index, owner);
        seen.insert(owner);
    }
    assert_eq!(seen.len(), 2);
    assert!(matches!(
        router.get_url(1, "ftp://x/").await,
        Err(CallError::Invalid { .. })
    ));
    assert!(matches!(
        router.get_host("A.example").await,
        Err(CallError::Invalid { .. })
    ));
}

fn answers() -> Arc<Scripted> {
    Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |r| {
        Ok(all(r, Code::New))
    }))
}

#[tokio::test]
async fn a_map_that_is_behind_is_read_of_whoever_has_a_newer_one() {
    let (lagging, ahead) = (answers(), answers());
    let peers = vec![Peer::local(lagging.clone()), Peer::local(ahead.clone())];
    let router = Router::connect(peers, options()).await.unwrap();
    *ahead.map.lock() = map(3, &[(1, 0, 9), (2, 10, u64::MAX)]);
    router.refresh().await.unwrap();
    assert_eq!(router.map_version(), 1, "the first one answered");
    let (caught_up, ()) = tokio::join!(router.catch_up(), router.newer_than(1));
    caught_up.unwrap();
    assert_eq!((router.map_version(), router.owner(10)), (3, Some(2)));
    // Nobody has a newer one, and one that is as new may hold other changes.
    *ahead.map.lock() = map(3, &[(1, 0, u64::MAX)]);
    router.catch_up().await.unwrap();
    assert_eq!((router.map_version(), router.owner(10)), (3, Some(1)));
}

#[tokio::test]
async fn a_look_up_follows_a_split() {
    let half = u64::MAX / 2;
    let frontier = answers();
    let router = Router::connect(vec![Peer::local(frontier.clone())], options())
        .await
        .unwrap();
    *frontier.map.lock() = map(3, &[(1, 0, half), (2, half + 1, u64::MAX)]);
    *frontier.split_at.lock() = Some(half + 1);
    let mut hosts = (0..99).map(|i| format!("www.site{i}.example"));
    let upper = hosts.find(|host| router.partition_of_host(host) > half);
    let upper = upper.unwrap();
    assert_eq!(router.owner(u64::MAX), Some(1), "not heard of yet");
    let found = router.get_host(&upper).await.unwrap();
    assert_eq!((found.applied_index, router.map_version()), (2, 3));
    let found = router
        .get_url(1, &format!("http://{upper}/"))
        .await
        .unwrap();
    assert_eq!(found.applied_index, 2);
}
