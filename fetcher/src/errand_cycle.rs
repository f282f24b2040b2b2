//! One errand lease's life: ask this host on another's behalf, and send what was found, or the next hop, on its way before
//! the errand is closed. The rules found are the origin's; this host's own entry is not touched (case D7).

use pb::discover_item::Item;
use pb::robots_found::Code;
use proto::frontier_v1 as pb;
use urlkey::CanonicalUrl;
use urlkey::limits::HARD_MAX_URL_BYTES;

use crate::contact::ContactTrace;
use crate::context::Context;
use crate::held::Held;
use crate::outcome::End;
use crate::robots_cycle::{Placement, place};
use crate::robots_fetch::{Asked, ask, found};

/// The whole cycle.
pub(crate) async fn errand(
    ctx: &Context,
    held: &Held,
    work: &pb::ErrandWork,
    trace: &ContactTrace,
) -> End {
    ctx.metrics.errands.increment();
    let errand = work.errand.clone().unwrap_or_default();
    let Ok(url) = CanonicalUrl::verify(&errand.url, HARD_MAX_URL_BYTES) else {
        return deliver(ctx, &errand, found(Code::Unreachable, 0, "invalid_url")).await;
    };
    match ask(ctx, &url, Vec::new(), held.deadline, errand.hop, trace).await {
        Asked::Found(found) => deliver(ctx, &errand, found).await,
        Asked::Again => ended(
            pb::ErrandOutcome {
                requeue: true,
                ..Default::default()
            },
            Vec::new(),
        ),
        Asked::NotStarted => End::Release,
        Asked::Elsewhere(target) => {
            let next = pb::Errand {
                url: target.as_str().to_owned(),
                partition: ctx.links.partition_of_host(target.host()),
                hop: errand.hop.saturating_add(1),
                ..errand.clone()
            };
            match place(ctx, next).await {
                Placement::Placed => ended(done(), Vec::new()),
                Placement::Undelivered(items) => ended(done(), items),
                Placement::Refused => {
                    deliver(ctx, &errand, found(Code::Unreachable, 0, "errand_refused")).await
                }
            }
        }
    }
}

/// Sends what was found to the origin's owner. Whatever it answers is final: an outdated result is as good as taken.
async fn deliver(ctx: &Context, errand: &pb::Errand, found: pb::RobotsFound) -> End {
    let outcome = pb::ErrandOutcome {
        failed: is_failure(&found),
        ..done()
    };
    let result = pb::ErrandResult {
        origin: errand.origin.clone(),
        origin_partition: errand.origin_partition,
        attempt: errand.attempt,
        robots: Some(found),
    };
    let offered = ctx
        .offers
        .offer(vec![pb::DiscoverItem {
            item: Some(Item::ErrandResult(result)),
        }])
        .await;
    ended(outcome, offered.undelivered)
}

/// Whether the host that was asked should be left alone for a while: busy, or no usable answer.
fn is_failure(found: &pb::RobotsFound) -> bool {
    found.code() == Code::Unreachable && matches!(found.status, 0 | 429 | 500..)
}

fn done() -> pb::ErrandOutcome {
    pb::ErrandOutcome {
        delivered: true,
        ..Default::default()
    }
}

fn ended(outcome: pb::ErrandOutcome, undelivered: Vec<pb::DiscoverItem>) -> End {
    End::Report {
        outcome: pb::report::Outcome::Errand(outcome),
        undelivered,
    }
}
