//! The end of a run: everything is mended, everything queued is fetched, and every promise is looked up.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{CallError, Frontier};
use proto::frontier_v1 as pb;

use super::moves;
use super::owners;
use super::plan::CRAWL;
use super::world::{To, World, partition};

type Sent<A> = futures::future::BoxFuture<'static, Result<A, CallError>>;

/// Waits until nothing is left to do, then judges.
pub(super) async fn audit(world: Arc<World>) {
    while !world.is_seeded.load(Ordering::Relaxed)
        || !world.splits.are_settled()
        || !moves::are_settled(&world)
    {
        world.sleep((500, 500)).await;
    }
    // A page of one shard may yet bring a link for another, so all must be found drained twice with nothing new between.
    let mut drained_with = None;
    let done = loop {
        let accepted = world.oracle.all_accepted().len() as u64;
        match done_when_drained(&world).await {
            None => drained_with = None,
            Some(done) if drained_with.replace(accepted) == Some(accepted) => break done,
            Some(_) => {}
        }
        world.sleep((500, 500)).await;
    };
    // P3, over parents and children: each page is done once, whichever shards have had it in their books.
    let (accepted, pages) = (drained_with.unwrap_or(0), world.plan.pages());
    if done < accepted || done > pages {
        world.trace.violation(format!(
            "{done} pages are done in all shards, of {accepted} accepted and {pages} there are"
        ));
    }
    owners::judge(&world).await;
    for url in world.oracle.all_accepted() {
        look_up(&world, &url).await;
    }
    world.is_over.store(true, Ordering::Relaxed);
}

/// How many pages are done in all shards, if nothing is left to do in any.
async fn done_when_drained(world: &World) -> Option<u64> {
    let mut done = 0;
    for shard in world.splits.map().shards() {
        done += drained(world, shard).await?;
    }
    Some(done)
}

/// The pages that are done, if the shard's leader has nothing queued, leased or to deliver.
async fn drained(world: &World, shard: u64) -> Option<u64> {
    let send = |there: Arc<dyn Frontier>, shard| -> Sent<pb::ShardStatusResponse> {
        Box::pin(async move {
            let status = there.shard_status(pb::ShardStatusRequest { shard }).await?;
            if status.leader {
                return Ok(status);
            }
            Err(CallError::NotLeader {
                leader_address: String::new(),
            })
        })
    };
    let status = world.ask(To::Shard(shard), 20, send).await.ok()?;
    let terms = status.terms.unwrap_or_default();
    // What is in the crawl that is never leased stays queued.
    let waiting = status.ready.map_or(0, |ready| ready.queued);
    let ended = terms.done + terms.removed + terms.refused;
    if terms.accepted != ended + terms.queued + terms.scheduled + terms.leased {
        world
            .trace
            .violation(format!("shard {shard} is not conserved: {terms:?}"));
    }
    world.trace.event(format!(
        "shard {shard}: {terms:?}, waiting {waiting}, outbox {}",
        status.outbox_waiting
    ));
    let rests = terms.leased == 0 && status.outbox_waiting == 0;
    (rests && all_ended(world, shard).await).then_some(terms.done)
}

/// Whether every accepted URL of the shard has ended.
async fn all_ended(world: &World, shard: u64) -> bool {
    for url in world.oracle.all_accepted() {
        if world.splits.map().owner(partition(&url)) != shard {
            continue;
        }
        let state = record(world, &url).await.map(|record| record.state());
        use pb::url_record::State;
        if !matches!(state, Some(State::Done | State::Refused) | None) {
            return false;
        }
    }
    true
}

async fn record(world: &World, url: &str) -> Option<pb::UrlRecord> {
    let request = pb::GetUrlRequest {
        shard: 0,
        crawl: CRAWL,
        url: url.to_owned(),
        partition: partition(url),
        local: false,
    };
    let to = To::Owner(request.partition);
    let send = |there: Arc<dyn Frontier>, shard| -> Sent<pb::GetUrlResponse> {
        let request = pb::GetUrlRequest {
            shard,
            ..request.clone()
        };
        Box::pin(async move { there.get_url(request).await })
    };
    loop {
        if let Ok(response) = world.ask(to, 20, send).await {
            return response.record;
        }
    }
}

/// An accepted URL is fetched.
async fn look_up(world: &World, url: &str) {
    use pb::url_record::State;
    let Some(record) = record(world, url).await else {
        return world
            .trace
            .violation(format!("P2: {url} was accepted and is not there"));
    };
    if record.state() != State::Done {
        let (state, reason) = (record.state(), &record.last_reason);
        world
            .trace
            .violation(format!("P2: {url} ended {state:?}: {reason}"));
    } else if world.web.arrivals(url) == 0 {
        world
            .trace
            .violation(format!("P2: {url} is done and was never asked for"));
    }
    if world.oracle.is_done(url) && record.visits == 0 {
        world
            .trace
            .violation(format!("P2: the stored page of {url} is forgotten"));
    }
}
