//! Tests of `offer`: batching, order, retries, what is final and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::testing::{FakeNode, Role, Scripted, all, link, map};
use crate::{Frontier, Peer, RouterOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use urlkey::SuffixList;

async fn router(frontier: &Arc<Scripted>) -> Router {
    let options = RouterOptions {
        retry_pause_ms: (1, 4),
        ..RouterOptions::new(SuffixList::shipped())
    };
    Router::connect(
        vec![Peer::local(Arc::clone(frontier) as Arc<dyn Frontier>)],
        options,
    )
    .await
    .unwrap()
}

fn codes(offered: &Offered) -> Vec<Code> {
    offered
        .results
        .iter()
        .map(|r| {
            r.as_ref()
                .map_or(Code::Unspecified, pb::DiscoverResult::code)
        })
        .collect()
}

#[tokio::test]
async fn batches_go_by_owner_within_the_limits_and_answers_keep_the_order() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, 9), (2, 10, u64::MAX)], |request| {
        Ok(all(
            request,
            if request.shard == 1 {
                Code::New
            } else {
                Code::Known
            },
        ))
    }));
    let router = router(&frontier).await;
    let items: Vec<_> = (0..2_500)
        .map(|i| link(if i % 5 == 0 { 20 } else { i % 10 }, "http://a.example/"))
        .collect();
    let offered = router.offer(items).await;
    let expected: Vec<_> = (0..2_500)
        .map(|i| if i % 5 == 0 { Code::Known } else { Code::New })
        .collect();
    assert_eq!(codes(&offered), expected);
    assert!(offered.undelivered.is_empty());
    let mut sizes: Vec<_> = frontier
        .asked
        .lock()
        .iter()
        .map(|r| (r.shard, r.items.len()))
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(1, 976), (1, 1_024), (2, 500)]);
}

#[tokio::test]
async fn a_batch_stays_under_four_mebibytes() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |r| {
        Ok(all(r, Code::New))
    }));
    let router = router(&frontier).await;
    let long = format!("http://a.example/{}", "x".repeat(8_000));
    let offered = router
        .offer((0..1_024).map(|_| link(1, &long)).collect())
        .await;
    assert!(offered.undelivered.is_empty());
    let asked = frontier.asked.lock();
    assert_eq!(asked.len(), 2);
    assert!(
        asked
            .iter()
            .all(|request| request.encoded_len() <= DISCOVER_SIZE_BYTES)
    );
}

// case B17: a put is idempotent and retried; what failed once is delivered, and nothing is reported twice.
#[tokio::test]
async fn what_fails_is_tried_again_until_it_is_answered() {
    let calls = AtomicUsize::new(0);
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], move |r| {
        if calls.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            Ok(all(r, Code::New))
        } else {
            Err(CallError::Unavailable {
                reason: "no quorum".into(),
                retry_after_ms: 0,
            })
        }
    }));
    let router = Arc::new(router(&frontier).await);
    let clients = (0..8).map(|client| {
        let router = Arc::clone(&router);
        async move {
            router
                .offer(
                    (0..250)
                        .map(|i| link(i, &format!("http://c{client}.example/{i}")))
                        .collect(),
                )
                .await
        }
    });
    for offered in futures::future::join_all(clients).await {
        assert!(offered.undelivered.is_empty());
        assert_eq!(codes(&offered), vec![Code::New; 250]);
    }
}

// case L23: an error that shows the map behind leads to one refresh and the right owner, with pauses between.
#[tokio::test]
async fn a_map_that_is_behind_is_refreshed() {
    let frontier = Arc::new(Scripted::new(
        &[(1, 0, u64::MAX)],
        |request| match request.shard {
            1 => Ok(all(request, Code::WrongShard)),
            2 => Err(CallError::WrongShard { map_version: 3 }),
            _ => Ok(all(request, Code::New)),
        },
    ));
    let router = router(&frontier).await;
    *frontier.map.lock() = map(2, &[(2, 0, u64::MAX)]);
    let offer = router.offer(vec![link(5, "http://a.example/")]);
    let (offered, ()) = tokio::join!(offer, async {
        while !frontier
            .asked
            .lock()
            .iter()
            .any(|request| request.shard == 2)
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        *frontier.map.lock() = map(3, &[(3, 0, u64::MAX)]);
    });
    assert_eq!(codes(&offered), [Code::New]);
    assert_eq!(router.map_version(), 3);
}

#[tokio::test]
async fn the_deadline_gives_back_what_was_not_delivered() {
    let frontier = Arc::new(Scripted::new(
        &[(1, 0, 9), (2, 10, 19)],
        |request| match request.shard {
            1 => Ok(all(request, Code::New)),
            _ => Err(CallError::Unavailable {
                reason: "dead".into(),
                retry_after_ms: 0,
            }),
        },
    ));
    let router = router(&frontier).await;
    // One is delivered, one's owner is dead, one has no owner at all.
    let items = vec![
        link(15, "http://b.example/"),
        link(5, "http://a.example/"),
        link(99, "http://c.example/"),
    ];
    let offered = router
        .offer_within(items.clone(), Duration::from_millis(30))
        .await;
    assert_eq!(
        codes(&offered),
        [Code::Unspecified, Code::New, Code::Unspecified]
    );
    assert_eq!(offered.undelivered, [items[0].clone(), items[2].clone()]);
}

#[tokio::test]
async fn a_bad_item_is_refused_alone() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |request| {
        let bad = request
            .items
            .iter()
            .position(|item| matches!(&item.item, Some(Item::Link(l)) if l.url.is_empty()));
        match bad {
            Some(index) => Err(CallError::Invalid {
                index: u32::try_from(index).unwrap(),
                reason: "no url".into(),
            }),
            None => Ok(all(request, Code::New)),
        }
    }));
    let router = router(&frontier).await;
    let items = vec![
        link(1, "http://a.example/"),
        link(1, ""),
        pb::DiscoverItem { item: None },
    ];
    assert_eq!(
        codes(&router.offer(items).await),
        [Code::New, Code::Refused, Code::Refused]
    );
}

#[tokio::test]
async fn batches_shrink_when_the_owner_says_they_are_too_large() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |request| {
        let value = request.items.len() as u64;
        if value > 100 {
            Err(CallError::OverLimit {
                limit: "items".into(),
                value,
                max: 100,
                retry_after_ms: 0,
            })
        } else {
            Ok(all(request, Code::New))
        }
    }));
    let router = router(&frontier).await;
    let offered = router
        .offer((0..1_000).map(|i| link(i, "http://a.example/")).collect())
        .await;
    assert_eq!(codes(&offered), vec![Code::New; 1_000]);
}

/// What a dead shard owns comes back; what others own is delivered meanwhile; the next offers do not wait for it again.
#[tokio::test]
async fn a_dead_shard_holds_up_nobody() {
    let (a, b) = (FakeNode::new(Role::Leads), FakeNode::new(Role::Leads));
    for node in [&a, &b] {
        node.becomes_for(2, Role::Follows(String::new()));
    }
    let options = RouterOptions {
        retry_pause_ms: (1, 4),
        leaderless_ms: 100,
        offer_patience_ms: 0,
        ..RouterOptions::new(SuffixList::shipped())
    };
    let router = Router::connect(vec![a.peer("a:1"), b.peer("b:2")], options)
        .await
        .unwrap();
    let items: Vec<_> = (0..20).map(|i| link(i, "http://a.example/")).collect();
    let offered = router.offer(items.clone()).await;
    assert_eq!(offered.undelivered, items[10..]);
    assert!(codes(&offered)[..10].iter().all(|code| *code == Code::New));
    let asked = a.calls() + b.calls();
    let again = router.offer(items.clone()).await;
    assert_eq!(again.undelivered, items[10..]);
    // One for the living shard; of the dead one at most a look at whether it has come back.
    let more = a.calls() + b.calls() - asked;
    assert!(more <= 8, "{more} calls");
    for node in [&a, &b] {
        node.becomes_for(2, Role::Leads);
    }
    while !router.offer(items.clone()).await.undelivered.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A shard that asks for a pause gets it from every offer; others do not notice.
#[tokio::test]
async fn an_overloaded_shard_gets_fewer_batches_and_its_pause() {
    let calls = AtomicUsize::new(0);
    let frontier = Arc::new(Scripted::new(
        &[(1, 0, 9), (2, 10, u64::MAX)],
        move |request| {
            if request.shard == 2 && calls.fetch_add(1, Ordering::Relaxed) < 3 {
                return Err(CallError::OverLimit {
                    limit: "outstanding_proposals".into(),
                    value: 0,
                    max: 0,
                    retry_after_ms: 5,
                });
            }
            Ok(all(request, Code::New))
        },
    ));
    let router = router(&frontier).await;
    let items: Vec<_> = (0..4_000)
        .map(|i| link(i % 20, "http://a.example/"))
        .collect();
    let offered = router.offer(items).await;
    assert_eq!(codes(&offered), vec![Code::New; 4_000]);
    let asked = frontier.asked.lock();
    assert_eq!(asked.iter().filter(|request| request.shard == 1).count(), 2);
    assert_eq!(asked.iter().filter(|request| request.shard == 2).count(), 5);
}

/// Hosts folded into others: each link goes on under its new name, to that one's owner, a bounded number of times.
#[tokio::test]
async fn links_of_an_aliased_host_are_offered_under_their_new_name() {
    let frontier = Arc::new(Scripted::new(&[(1, 0, u64::MAX)], |request| {
        let answer = |item: &pb::DiscoverItem| {
            let Some(Item::Link(link)) = &item.item else {
                panic!("links only");
            };
            let to = match link.url.as_str() {
                "http://old.example/1" => "http://new.example/1",
                "http://round.example/" => "http://about.example/",
                "http://about.example/" => "http://round.example/",
                "http://bad.example/" => "no url",
                _ => "",
            };
            let code = if to.is_empty() {
                Code::New
            } else {
                Code::Moved
            };
            pb::DiscoverResult {
                code: code.into(),
                moved_to: to.to_owned(),
                ..pb::DiscoverResult::default()
            }
        };
        Ok(pb::DiscoverResponse {
            results: request.items.iter().map(answer).collect(),
            now_ms: 1,
        })
    }));
    let router = router(&frontier).await;
    let urls = [
        "http://a.example/",
        "http://old.example/1",
        "http://round.example/",
        "http://bad.example/",
    ];
    let offered = router.offer(urls.map(|url| link(7, url)).into()).await;
    let refused = Code::Refused;
    assert_eq!(codes(&offered), [Code::New, Code::New, refused, refused]);
    assert_eq!(offered.results[2].as_ref().unwrap().reason, "alias_hops");
    let asked = frontier.asked.lock();
    let links = asked.iter().flat_map(|request| &request.items);
    let links = links.filter_map(|item| match &item.item {
        Some(Item::Link(link)) => Some((link.url.clone(), link.partition)),
        _ => None,
    });
    let new = (
        "http://new.example/1".to_owned(),
        router.partition_of_host("new.example"),
    );
    assert!(links.clone().any(|link| link == new));
    let rounds =
        links.filter(|(url, _)| url == "http://round.example/" || url == "http://about.example/");
    assert_eq!(rounds.count(), crate::limits::ALIAS_HOPS as usize + 1);
}
