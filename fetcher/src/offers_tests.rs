//! Offers of several pages against owners that answer when a test lets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::Offered;
use parking_lot::Mutex;
use pb::discover_item::Item;
use pb::discover_result::Code;
use proto::frontier_v1 as pb;
use tokio::sync::Semaphore;

use super::Offers;
use crate::limits::MAX_OFFERED_A_CALL;
use crate::links::Links;

/// Shard 1 owns the even hashes, shard 2 the odd ones.
struct Owners {
    /// The URLs of each call, in the order in which the calls began.
    calls: Mutex<Vec<Vec<String>>>,
    /// Each call of shard 1 takes one before it is answered.
    answers: Semaphore,
    /// Items with this in their URL have no answer.
    silent_about: Mutex<String>,
    breaks: AtomicBool,
}

impl Owners {
    fn new(answers: usize) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            answers: Semaphore::new(answers),
            silent_about: Mutex::new("nothing".to_owned()),
            breaks: AtomicBool::new(false),
        })
    }

    fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().clone()
    }
}

#[async_trait::async_trait]
impl Links for Owners {
    async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        self.calls.lock().push(items.iter().map(url).collect());
        assert!(!self.breaks.load(Ordering::SeqCst), "asked to break");
        if owner(&items[0]) == 1 {
            self.answers.acquire().await.unwrap().forget();
        }
        let silent_about = self.silent_about.lock().clone();
        let answer = |item: &pb::DiscoverItem| {
            (!url(item).contains(&silent_about)).then(|| pb::DiscoverResult {
                code: Code::New.into(),
                reason: url(item),
                ..pb::DiscoverResult::default()
            })
        };
        let results: Vec<_> = items.iter().map(answer).collect();
        let all = items.into_iter().zip(&results);
        let undelivered = all.filter(|(_, result)| result.is_none());
        Offered {
            undelivered: undelivered.map(|(item, _)| item).collect(),
            results,
        }
    }

    fn shards(&self) -> Vec<pb::ShardEntry> {
        Vec::new()
    }

    fn owner(&self, partition: u64) -> Option<u64> {
        Some(1 + partition % 2)
    }

    async fn refresh(&self) {}

    fn partition_of_host(&self, _host: &str) -> u64 {
        0
    }
}

fn owner(item: &pb::DiscoverItem) -> u64 {
    match &item.item {
        Some(Item::Link(link)) => 1 + link.partition % 2,
        _ => 0,
    }
}

fn url(item: &pb::DiscoverItem) -> String {
    match &item.item {
        Some(Item::Link(link)) => link.url.clone(),
        _ => String::new(),
    }
}

fn link(url: &str, partition: u64) -> pb::DiscoverItem {
    pb::DiscoverItem {
        item: Some(Item::Link(pb::Link {
            url: url.to_owned(),
            partition,
            ..pb::Link::default()
        })),
    }
}

/// What each item was told, which is its own URL.
fn told(offered: &Offered) -> Vec<&str> {
    let results = offered.results.iter();
    results
        .map(|result| result.as_ref().map_or("-", |result| &result.reason))
        .collect()
}

/// Lets every task go on until all of them wait.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_come_during_a_call_share_the_next_one() {
    let owners = Owners::new(0);
    let offers = Arc::new(Offers::new(owners.clone()));
    let offer = |name: &'static str| {
        let offers = Arc::clone(&offers);
        tokio::spawn(async move { offers.offer(vec![link(name, 0)]).await })
    };
    let first = offer("a");
    settle().await;
    let (second, third) = (offer("b"), offer("c"));
    settle().await;
    assert_eq!(owners.calls(), [["a"]], "one call at a time");
    owners.answers.add_permits(2);
    for (page, name) in [(first, "a"), (second, "b"), (third, "c")] {
        assert_eq!(told(&page.await.unwrap()), [name]);
    }
    assert_eq!(owners.calls(), [vec!["a"], vec!["b", "c"]]);
}

#[tokio::test(start_paused = true)]
async fn an_item_without_an_answer_comes_back_to_its_own_page_in_order() {
    let owners = Owners::new(0);
    *owners.silent_about.lock() = "lost".to_owned();
    let offers = Arc::new(Offers::new(owners.clone()));
    let page = |items: Vec<pb::DiscoverItem>| {
        let offers = Arc::clone(&offers);
        tokio::spawn(async move { offers.offer(items).await })
    };
    let first = page(vec![link("first", 0)]);
    settle().await;
    let second = page(vec![link("lost-1", 0), link("b", 1), link("lost-2", 1)]);
    let third = page(vec![link("c", 0), link("lost-3", 0)]);
    settle().await;
    owners.answers.add_permits(2);
    assert_eq!(told(&first.await.unwrap()), ["first"]);
    let (second, third) = (second.await.unwrap(), third.await.unwrap());
    assert_eq!(told(&second), ["-", "b", "-"]);
    let back: Vec<_> = second.undelivered.iter().map(url).collect();
    assert_eq!(back, ["lost-1", "lost-2"]);
    assert_eq!(told(&third), ["c", "-"]);
    assert_eq!(
        third.undelivered.iter().map(url).collect::<Vec<_>>(),
        ["lost-3"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_does_not_answer_holds_up_neither_others_nor_itself_for_ever() {
    let owners = Owners::new(0);
    let offers = Arc::new(Offers::new(owners.clone()));
    let stuck = Arc::clone(&offers);
    let stuck = tokio::spawn(async move { stuck.offer(vec![link("stuck", 0)]).await });
    settle().await;
    assert_eq!(told(&offers.offer(vec![link("other", 1)]).await), ["other"]);
    assert!(!stuck.is_finished());
    // Virtual time passes while all wait: the next call goes out beside the one that hangs.
    let second = Arc::clone(&offers);
    let second = tokio::spawn(async move { second.offer(vec![link("next", 0)]).await });
    while owners.calls().len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(owners.calls(), [["stuck"], ["other"], ["next"]]);
    owners.answers.add_permits(2);
    assert_eq!(told(&stuck.await.unwrap()), ["stuck"]);
    assert_eq!(told(&second.await.unwrap()), ["next"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_bounded_and_the_rest_goes_with_the_next() {
    let owners = Owners::new(0);
    let offers = Arc::new(Offers::new(owners.clone()));
    let page = |name: &'static str, count: usize| {
        let offers = Arc::clone(&offers);
        let items = (0..count).map(|_| link(name, 0)).collect();
        tokio::spawn(async move { offers.offer(items).await })
    };
    let first = page("first", 1);
    settle().await;
    let full = page("full", MAX_OFFERED_A_CALL);
    settle().await;
    let rest = page("rest", 1);
    settle().await;
    owners.answers.add_permits(3);
    for offered in [first, full, rest] {
        assert!(offered.await.unwrap().undelivered.is_empty());
    }
    let sizes: Vec<_> = owners.calls().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, MAX_OFFERED_A_CALL, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_loses_no_item() {
    let owners = Owners::new(1);
    owners.breaks.store(true, Ordering::SeqCst);
    let offers = Offers::new(owners.clone());
    let offered = offers.offer(vec![link("a", 0), link("b", 0)]).await;
    assert_eq!(told(&offered), ["-", "-"]);
    assert_eq!(
        offered.undelivered.iter().map(url).collect::<Vec<_>>(),
        ["a", "b"]
    );
    owners.breaks.store(false, Ordering::SeqCst);
    assert_eq!(told(&offers.offer(vec![link("c", 0)]).await), ["c"]);
}
