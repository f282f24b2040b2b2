//! Clients beside the fetchers: one offers the first URLs, one offers URLs, forgets them and offers them again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use super::fetch::judge_offer;
use super::plan::{CRAWL, FORGOTTEN_CRAWL, Plan};
use super::world::{To, World, link, partition};

/// URLs that a client which offers and forgets keeps at a time.
const WATCHED_URLS: usize = 12;
/// How long it waits for an answer, ms: a leader that is cut off from the others is asked again before it knows.
const PATIENCE_MS: (u64, u64) = (100, 500);

type Sent<A> = futures::future::BoxFuture<'static, Result<A, CallError>>;

/// Sets the crawls up on a shard.
pub(super) async fn set_policies(world: &World, shard: u64) {
    let plan = &world.plan;
    let crawl = pb::CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: plan.min_delay_ms,
        response_time_factor_tenths: 1,
        fetch_timeout_ms: plan.fetch_timeout_ms,
        back_off_base_ms: 500,
        back_off_cap_ms: 4_000,
        max_attempts: 200,
        ..Default::default()
    };
    let forgotten = pb::CrawlPolicy {
        crawl: FORGOTTEN_CRAWL,
        paused: true,
        ..Default::default()
    };
    for policy in [crawl, forgotten] {
        let request = pb::SetPolicyRequest {
            shard,
            policy: Some(pb::set_policy_request::Policy::Crawl(policy)),
        };
        let send = |there: Arc<dyn Frontier>, shard| -> Sent<pb::SetPolicyResponse> {
            let request = pb::SetPolicyRequest {
                shard,
                ..request.clone()
            };
            Box::pin(async move { there.set_policy(request).await })
        };
        while world.ask(To::Shard(shard), 10, send).await.is_err() {}
    }
}

/// Offers the first pages, a few at a time.
pub(super) async fn seed(world: Arc<World>) {
    for shard in 1..=world.plan.shards {
        set_policies(&world, shard).await;
    }
    world.trace.event("policies are set");
    for number in 0..world.plan.pages() {
        // The rest is found by links, or never.
        if number % 3 == 2 {
            continue;
        }
        let url = world.plan.page(number);
        offer(&world, &url).await;
        world.is_set_up.store(true, Ordering::Relaxed);
        world.sleep((0, 400)).await;
    }
    world.is_seeded.store(true, Ordering::Relaxed);
}

/// Offers one URL to a shard. That it is another's is an error of the call, since nothing was done.
pub(super) fn offers(
    crawl: u32,
    url: &str,
) -> impl Fn(Arc<dyn Frontier>, u64) -> Sent<pb::DiscoverResponse> + use<> {
    let items = vec![link(crawl, url)];
    move |there, shard| {
        let items = items.clone();
        Box::pin(async move {
            let response = there.discover(pb::DiscoverRequest { shard, items }).await?;
            if response.results[0].code() == pb::discover_result::Code::WrongShard {
                return Err(CallError::WrongShard { map_version: 0 });
            }
            Ok(response)
        })
    }
}

async fn offer(world: &World, url: &str) {
    if let Ok(response) = world
        .ask(To::Owner(partition(url)), 5, offers(CRAWL, url))
        .await
    {
        judge_offer(world, url, &response);
    }
}

/// What must be true of a URL of which every call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Out,
    In,
}

/// A URL that one client offers and forgets.
struct Watched {
    url: String,
    known: Known,
    /// The node that forgot it last.
    forgotten_by: Option<u64>,
}

/// Offers URLs, forgets them, offers them again: after a forgetting that was answered a URL is new, after an offer that
/// was answered it is known. A URL whose call got no answer is left alone. Several are kept at a time, so that a leader
/// that is cut off knows of some that are forgotten behind its back.
pub(super) async fn forget_and_repeat(world: Arc<World>, client: u64) {
    let mut made = 0;
    let mut kept: Vec<Watched> = Vec::new();
    let mut just_forgotten = None;
    loop {
        world.sleep((10, 100)).await;
        if kept.len() < WATCHED_URLS {
            made += 1;
            let host = Plan::host(100 + made % 4);
            kept.push(Watched {
                url: format!("http://{host}/forgotten{client}-{made}"),
                known: Known::Out,
                forgotten_by: None,
            });
        }
        let any = world.draw(|rng| rng.below(kept.len() as u64)) as usize;
        let place = just_forgotten.take().unwrap_or(any);
        let watched = &kept[place];
        let patience = Duration::from_millis(world.draw(|rng| rng.between(PATIENCE_MS)));
        let forgets = watched.known == Known::In && world.draw(|rng| rng.chance(500));
        let call = async {
            if forgets {
                forget(&world, watched).await
            } else {
                offer_again(&world, watched).await
            }
        };
        let answered = tokio::time::timeout(patience, call).await;
        let Some(next) = answered.unwrap_or(None) else {
            kept.swap_remove(place);
            continue;
        };
        if next.known == Known::Out && world.draw(|rng| rng.chance(700)) {
            just_forgotten = Some(place);
        }
        kept[place] = next;
    }
}

/// One call that comes at most once, to any node until one leads: an answer and whose it is, or none that is sure. One
/// node may be asked after the others: if it leads, they do so in vain.
async fn once<A>(
    world: &World,
    url: &str,
    last: Option<u64>,
    send: impl Fn(Arc<dyn Frontier>, u64) -> Sent<A>,
) -> Option<(A, u64)> {
    let hash = partition(url);
    let mut shard = world.owner_or_earlier(hash);
    let first = world.any_node();
    let nodes = world.plan.nodes;
    let mut order: Vec<u64> = (0..nodes).map(|n| (first + n) % nodes + 1).collect();
    order.sort_by_key(|node| last == Some(*node));
    for node in order.into_iter().cycle().take(4 * nodes as usize) {
        let mut there = world.node(node);
        there.may_repeat = false;
        match send(Arc::new(there), shard).await {
            Ok(answer) => return Some((answer, node)),
            Err(CallError::WrongShard { .. }) => {
                world.is_wrong_shard(shard, node).await;
                shard = world.owner(hash);
            }
            Err(CallError::NotLeader { .. } | CallError::NotHere { .. }) => {
                world.sleep((5, 60)).await;
            }
            Err(_) => return None,
        }
    }
    None
}

async fn offer_again(world: &World, watched: &Watched) -> Option<Watched> {
    let (url, known) = (&watched.url, watched.known);
    let offer = offers(FORGOTTEN_CRAWL, url);
    let (response, node) = once(world, url, watched.forgotten_by, offer).await?;
    let code = response.results[0].code();
    world
        .trace
        .event(format!("{url} is {code:?} at {node}, was {known:?}"));
    let expected = match known {
        Known::Out => pb::discover_result::Code::New,
        Known::In => pb::discover_result::Code::Known,
    };
    // A refusal is an answer too: then it is not in.
    if code == pb::discover_result::Code::Refused {
        return None;
    }
    if code != expected {
        world.trace.violation(format!(
            "{url} was {known:?} by what was answered before, and is now called {code:?} at {node}"
        ));
    }
    Some(Watched {
        url: url.clone(),
        known: Known::In,
        forgotten_by: None,
    })
}

async fn forget(world: &World, watched: &Watched) -> Option<Watched> {
    let url = &watched.url;
    let request = pb::RemoveRequest {
        shard: 0,
        target: Some(pb::remove_request::Target::Url(url.clone())),
        crawl: FORGOTTEN_CRAWL,
        partition: partition(url),
        forget: true,
        cursor: Default::default(),
    };
    let (response, node) = once(world, url, None, |there, shard| {
        let request = pb::RemoveRequest {
            shard,
            ..request.clone()
        };
        Box::pin(async move {
            let response = there.remove(request).await?;
            if response.refused_reason == "wrong_shard" {
                return Err(CallError::WrongShard { map_version: 0 });
            }
            Ok(response)
        })
    })
    .await?;
    world.trace.event(format!(
        "{url} is forgotten at {node}: {}",
        response.removed
    ));
    if response.removed != 1 {
        world.trace.violation(format!(
            "{url} was accepted, and its removal removed {}",
            response.removed
        ));
    }
    Some(Watched {
        url: url.clone(),
        known: Known::Out,
        forgotten_by: Some(node),
    })
}
