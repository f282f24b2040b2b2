//! Links, errands and errand results.

use machine::command::discover as m;
use machine::limits::{ERRAND_HOPS, METADATA_PAIRS, METADATA_SIZE_BYTES};
use proto::frontier_v1 as pb;
use urlkey::QueueKey;

use super::robots::{found_from_wire, found_to_wire};
use super::{Rejected, Verifier};

/// Checks one item and computes its keys.
pub(crate) fn item_from_wire(
    verifier: &Verifier,
    item: pb::DiscoverItem,
) -> Result<m::Item, Rejected> {
    let kind = match item.item {
        Some(pb::discover_item::Item::Link(link)) => {
            m::ItemKind::Link(link_from_wire(verifier, link)?)
        }
        Some(pb::discover_item::Item::Errand(errand)) => {
            m::ItemKind::Errand(errand_from_wire(verifier, errand)?)
        }
        Some(pb::discover_item::Item::ErrandResult(result)) => {
            m::ItemKind::ErrandResult(result_from_wire(verifier, result)?)
        }
        None => return Err(Rejected("empty_item")),
    };
    Ok(m::Item { kind: Some(kind) })
}

fn link_from_wire(verifier: &Verifier, link: pb::Link) -> Result<m::Link, Rejected> {
    if link.crawl == 0 {
        return Err(Rejected("unknown_crawl"));
    }
    let size_bytes: usize = link
        .metadata
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if link.metadata.len() > METADATA_PAIRS || size_bytes > METADATA_SIZE_BYTES {
        return Err(Rejected("metadata_size"));
    }
    if !link.queue_key.is_empty() {
        QueueKey::parse(&link.queue_key).map_err(|_| Rejected("queue_key"))?;
    }
    let url = verifier.url(&link.url, link.partition)?;
    Ok(m::Link {
        crawl: link.crawl,
        fingerprint: verifier.fingerprint(link.crawl, &url),
        url: link.url,
        partition: link.partition,
        priority: link.priority,
        depth: link.depth,
        redirect_hops: link.redirect_hops,
        metadata: link.metadata,
        queue_key: link.queue_key,
    })
}

fn errand_from_wire(verifier: &Verifier, errand: pb::Errand) -> Result<m::Errand, Rejected> {
    verifier.url(&errand.url, errand.partition)?;
    let origin = verifier.origin(&errand.origin, errand.origin_partition)?;
    if errand.hop == 0 {
        return Err(Rejected("malformed"));
    }
    if errand.hop > ERRAND_HOPS {
        return Err(Rejected("errand_hops"));
    }
    Ok(m::Errand {
        fingerprint: verifier.fingerprint(0, &origin),
        url: errand.url,
        partition: errand.partition,
        origin: errand.origin,
        origin_partition: errand.origin_partition,
        hop: errand.hop,
        attempt: errand.attempt,
    })
}

fn result_from_wire(
    verifier: &Verifier,
    result: pb::ErrandResult,
) -> Result<m::ErrandResult, Rejected> {
    verifier.origin(&result.origin, result.origin_partition)?;
    let robots = found_from_wire(result.robots.ok_or(Rejected("malformed"))?)?;
    Ok(m::ErrandResult {
        origin: result.origin,
        origin_partition: result.origin_partition,
        attempt: result.attempt,
        robots: Some(robots),
    })
}

/// An item as it travels; `None` for one without a kind, which no checked batch holds.
pub(crate) fn item_to_wire(item: m::Item) -> Option<pb::DiscoverItem> {
    let item = match item.kind? {
        m::ItemKind::Link(link) => pb::discover_item::Item::Link(pb::Link {
            crawl: link.crawl,
            url: link.url,
            partition: link.partition,
            priority: link.priority,
            depth: link.depth,
            redirect_hops: link.redirect_hops,
            metadata: link.metadata,
            queue_key: link.queue_key,
        }),
        m::ItemKind::Errand(errand) => pb::discover_item::Item::Errand(errand_to_wire(errand)),
        m::ItemKind::ErrandResult(result) => {
            pb::discover_item::Item::ErrandResult(pb::ErrandResult {
                origin: result.origin,
                origin_partition: result.origin_partition,
                attempt: result.attempt,
                robots: result.robots.map(found_to_wire),
            })
        }
    };
    Some(pb::DiscoverItem { item: Some(item) })
}

pub(super) fn errand_to_wire(errand: m::Errand) -> pb::Errand {
    pb::Errand {
        url: errand.url,
        partition: errand.partition,
        origin: errand.origin,
        origin_partition: errand.origin_partition,
        hop: errand.hop,
        attempt: errand.attempt,
    }
}

/// The answer for one item.
pub(crate) fn discover_result(result: &m::DiscoverResult) -> pb::DiscoverResult {
    use pb::discover_result::Code;
    let (code, reason) = match result {
        m::DiscoverResult::Moved(_) => (Code::Moved, ""),
        m::DiscoverResult::New => (Code::New, ""),
        m::DiscoverResult::Known => (Code::Known, ""),
        m::DiscoverResult::Refused(refusal) => (Code::Refused, refusal.name()),
        m::DiscoverResult::WrongShard => (Code::WrongShard, ""),
    };
    pb::DiscoverResult {
        code: code.into(),
        reason: reason.to_owned(),
        moved_to: match result {
            m::DiscoverResult::Moved(url) => url.clone(),
            _ => String::new(),
        },
    }
}
