//! One robots lease's life: ask the authority's own robots.txt; where it redirects, place an errand with the target's owner.

use pb::discover_item::Item;
use pb::discover_result::Code as Placed;
use pb::robots_found::Code;
use proto::frontier_v1 as pb;
use urlkey::CanonicalUrl;
use urlkey::limits::HARD_MAX_URL_BYTES;

use crate::conditional;
use crate::contact::ContactTrace;
use crate::context::Context;
use crate::held::Held;
use crate::outcome::End;
use crate::robots_fetch::{Asked, ask, found};

/// The whole cycle.
pub(crate) async fn robots(
    ctx: &Context,
    held: &Held,
    work: &pb::RobotsWork,
    trace: &ContactTrace,
) -> End {
    ctx.metrics.robots.increment();
    let Ok(url) = CanonicalUrl::verify(&work.url, HARD_MAX_URL_BYTES) else {
        return End::robots(Some(found(Code::Unreachable, 0, "invalid_url")), Vec::new());
    };
    let condition = work
        .validators
        .as_ref()
        .map(conditional::condition)
        .unwrap_or_default();
    match ask(ctx, &url, condition, held.deadline, 0, trace).await {
        Asked::Found(found) => End::robots(Some(found), Vec::new()),
        Asked::Again => End::robots(None, Vec::new()),
        Asked::NotStarted => End::Release,
        Asked::Elsewhere(target) => {
            let errand = pb::Errand {
                url: target.as_str().to_owned(),
                partition: ctx.links.partition_of_host(target.host()),
                origin: work.origin.clone(),
                origin_partition: held.key.partition,
                hop: 1,
                attempt: work.attempt,
            };
            pending(place(ctx, errand).await)
        }
    }
}

/// What became of an errand.
pub(crate) enum Placement {
    /// Its owner has it.
    Placed,
    /// Its owner does not want it.
    Refused,
    /// Its owner could not be reached: the item, to travel with the report.
    Undelivered(Vec<pb::DiscoverItem>),
}

/// Places an errand with its target's owner. This comes before any report: otherwise the origin could wait for what
/// nobody will do.
pub(crate) async fn place(ctx: &Context, errand: pb::Errand) -> Placement {
    let offered = ctx
        .offers
        .offer(vec![pb::DiscoverItem {
            item: Some(Item::Errand(errand)),
        }])
        .await;
    match offered.results.first().and_then(Option::as_ref) {
        Some(result) if matches!(result.code(), Placed::New | Placed::Known) => Placement::Placed,
        Some(result) => {
            tracing::info!(reason = result.reason, "an errand was refused");
            Placement::Refused
        }
        None => Placement::Undelivered(offered.undelivered),
    }
}

fn pending(placement: Placement) -> End {
    let waiting = found(Code::Pending, 0, "");
    match placement {
        Placement::Placed => End::robots(Some(waiting), Vec::new()),
        Placement::Undelivered(items) => End::robots(Some(waiting), items),
        Placement::Refused => End::robots(
            Some(found(Code::Unreachable, 0, "errand_refused")),
            Vec::new(),
        ),
    }
}
