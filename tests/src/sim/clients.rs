//! Clients beside the fetchers: one offers the first URLs, one offers URLs, forgets them and offers them again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use super::fetch::judge_offer;
use super::plan::{CRAWL, FORGOTTEN_CRAWL, NODES, Plan};
use super::world::{World, link, partition};

/// URLs that a client which offers and forgets keeps at a time.
const WATCHED_URLS: usize = 5;

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
        let send = |there: Arc<dyn Frontier>| -> Sent<pb::SetPolicyResponse> {
            let request = request.clone();
            Box::pin(async move { there.set_policy(request).await })
        };
        while world.ask(shard, 10, send).await.is_err() {}
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

async fn offer(world: &World, url: &str) {
    let shard = world.owner(url);
    let request = pb::DiscoverRequest {
        shard,
        items: vec![link(CRAWL, url)],
    };
    let send = |there: Arc<dyn Frontier>| -> Sent<pb::DiscoverResponse> {
        let request = request.clone();
        Box::pin(async move { there.discover(request).await })
    };
    if let Ok(response) = world.ask(shard, 5, send).await {
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
}

/// Offers URLs, forgets them, offers them again: after a forgetting that was answered a URL is new, after an offer that
/// was answered it is known. A URL whose call got no answer is left alone. Several are kept at a time, so that a leader
/// that is cut off knows of some that are forgotten behind its back.
pub(super) async fn forget_and_repeat(world: Arc<World>, client: u64) {
    let mut made = 0;
    let mut kept: Vec<Watched> = Vec::new();
    let mut just_forgotten = None;
    loop {
        world.sleep((10, 200)).await;
        if kept.len() < WATCHED_URLS {
            made += 1;
            let host = Plan::host(100 + made % 4);
            kept.push(Watched {
                url: format!("http://{host}/forgotten{client}-{made}"),
                known: Known::Out,
            });
        }
        let any = world.draw(|rng| rng.below(kept.len() as u64)) as usize;
        let place = just_forgotten.take().unwrap_or(any);
        let Watched { url, known } = &kept[place];
        let next = match known {
            Known::In if world.draw(|rng| rng.chance(500)) => forget(&world, url).await,
            _ => offer_again(&world, url, *known).await,
        };
        if next == Some(Known::Out) && world.draw(|rng| rng.chance(700)) {
            just_forgotten = Some(place);
        }
        match next {
            Some(known) => kept[place].known = known,
            None => drop(kept.swap_remove(place)),
        }
    }
}

/// One call that comes at most once, to any node until one leads: an answer, or none that is sure.
async fn once<A>(world: &World, send: impl Fn(Arc<dyn Frontier>) -> Sent<A>) -> Option<A> {
    let first = world.any_node();
    for place in 0..NODES * 4 {
        let node = (first + place) % NODES + 1;
        let mut there = world.node(node);
        there.may_repeat = false;
        match send(Arc::new(there)).await {
            Ok(answer) => return Some(answer),
            Err(CallError::NotLeader { .. }) => world.sleep((5, 150)).await,
            Err(_) => return None,
        }
    }
    None
}

async fn offer_again(world: &World, url: &str, known: Known) -> Option<Known> {
    let request = pb::DiscoverRequest {
        shard: world.owner(url),
        items: vec![link(FORGOTTEN_CRAWL, url)],
    };
    let response = once(world, |there| {
        let request = request.clone();
        Box::pin(async move { there.discover(request).await })
    })
    .await?;
    let code = response.results[0].code();
    world
        .trace
        .event(format!("{url} is {code:?}, was {known:?}"));
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
            "{url} was {known:?} by what was answered before, and is now called {code:?}"
        ));
    }
    Some(Known::In)
}

async fn forget(world: &World, url: &str) -> Option<Known> {
    let request = pb::RemoveRequest {
        shard: world.owner(url),
        target: Some(pb::remove_request::Target::Url(url.to_owned())),
        crawl: FORGOTTEN_CRAWL,
        partition: partition(url),
        forget: true,
        cursor: Default::default(),
    };
    let response = once(world, |there| {
        let request = request.clone();
        Box::pin(async move { there.remove(request).await })
    })
    .await?;
    world
        .trace
        .event(format!("{url} is forgotten: {}", response.removed));
    if response.removed != 1 {
        world.trace.violation(format!(
            "{url} was accepted, and its removal removed {}",
            response.removed
        ));
    }
    Some(Known::Out)
}
