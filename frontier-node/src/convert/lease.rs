//! Lease calls and their answers.

use bytes::Bytes;
use client::CallError;
use client::limits::{LEASE_TTL_MS, LEASE_WAIT_MS, LEASES_PER_CALL};
use machine::command::lease as m;
use proto::frontier_v1 as pb;

use super::discover::errand_to_wire;
use super::robots::validators_to_wire;

/// Checks one numbered call.
pub(crate) fn lease_call(request: &pb::LeaseRequest) -> Result<m::LeaseCall, CallError> {
    let invalid = |reason: &str| CallError::Invalid {
        index: 0,
        reason: reason.to_owned(),
    };
    if request.session.len() != 16 {
        return Err(invalid("session is not 16 bytes"));
    }
    if request.number == 0 {
        return Err(invalid("number starts at 1"));
    }
    if request.max_leases == 0 {
        return Err(invalid("max_leases is 0"));
    }
    if request.ttl_ms < LEASE_TTL_MS.0 {
        return Err(invalid("ttl_ms is below 5000"));
    }
    within(
        "max_leases",
        request.max_leases.into(),
        LEASES_PER_CALL.into(),
    )?;
    within("ttl_ms", request.ttl_ms, LEASE_TTL_MS.1)?;
    within("wait_ms", request.wait_ms, LEASE_WAIT_MS)?;
    Ok(m::LeaseCall {
        session: request.session.to_vec(),
        number: request.number,
        max_leases: request.max_leases,
        ttl_ms: request.ttl_ms,
    })
}

/// Refuses a value over its limit by the limit's name.
pub(crate) fn within(limit: &str, value: u64, max: u64) -> Result<(), CallError> {
    if value <= max {
        return Ok(());
    }
    Err(CallError::OverLimit {
        limit: limit.to_owned(),
        value,
        max,
        retry_after_ms: 0,
    })
}

/// The answer of an entry with shard time `now_ms`, for a call held `held_ms` before it was stamped; without the map's
/// version, which is the node's.
pub(crate) fn lease_response(
    reply: m::LeaseReply,
    now_ms: u64,
    held_ms: u64,
) -> Result<pb::LeaseResponse, CallError> {
    match reply {
        m::LeaseReply::Granted {
            leases,
            repeated,
            ready,
            next_ready_in_ms,
        } => Ok(pb::LeaseResponse {
            leases: leases
                .into_iter()
                .map(|lease| lease_to_wire(lease, now_ms))
                .collect(),
            ready: Some(ready_summary(&ready)),
            held_ms,
            repeated,
            next_ready_in_ms: next_ready_in_ms.unwrap_or(0),
            map_version: 0,
        }),
        m::LeaseReply::Stale { newest } => Err(CallError::StaleCall {
            newest_number: newest,
        }),
        m::LeaseReply::Malformed => Err(CallError::Invalid {
            index: 0,
            reason: "the lease call is malformed".into(),
        }),
    }
}

/// What waits ready.
pub(crate) fn ready_summary(ready: &m::ReadySummary) -> pb::ReadySummary {
    pb::ReadySummary {
        by_class: ready.by_class.to_vec(),
        oldest_ready_ms: ready.oldest_ready_ms,
        queued: ready.queued,
        leased: ready.leased,
    }
}

fn lease_to_wire(lease: m::Lease, now_ms: u64) -> pb::Lease {
    let work = match lease.work {
        m::Work::Page(page) => pb::lease::Work::Page(page_to_wire(page)),
        m::Work::Robots(robots) => pb::lease::Work::Robots(pb::RobotsWork {
            url: format!("{}/robots.txt", robots.origin),
            origin: robots.origin,
            attempt: robots.attempt,
            validators: validators_to_wire(robots.etag, robots.last_modified),
        }),
        m::Work::Errand(errand) => pb::lease::Work::Errand(pb::ErrandWork {
            errand: Some(errand_to_wire(errand)),
        }),
    };
    pb::Lease {
        key: Some(key_to_wire(&lease.key)),
        token: lease.token,
        remaining_ms: lease.deadline_ms.saturating_sub(now_ms),
        work: Some(work),
    }
}

fn key_to_wire(key: &m::LeaseKey) -> pb::LeaseKey {
    use pb::lease_key::Kind;
    let kind = match key.kind() {
        m::LeaseKind::Page => Kind::Page,
        m::LeaseKind::Robots => Kind::Robots,
        m::LeaseKind::Errand => Kind::Errand,
    };
    pb::LeaseKey {
        kind: kind.into(),
        partition: key.partition,
        fingerprint: key.fingerprint,
    }
}

/// `None`: the kind is none this version knows.
pub(super) fn key_from_wire(key: &pb::LeaseKey) -> Option<m::LeaseKey> {
    use pb::lease_key::Kind;
    let kind = match key.kind() {
        Kind::Unspecified => return None,
        Kind::Page => m::LeaseKind::Page,
        Kind::Robots => m::LeaseKind::Robots,
        Kind::Errand => m::LeaseKind::Errand,
    };
    Some(m::LeaseKey {
        kind: kind.into(),
        partition: key.partition,
        fingerprint: key.fingerprint,
    })
}

fn page_to_wire(page: m::PageWork) -> pb::PageWork {
    use pb::robots_reference::State;
    let (state, digest) = match page.robots_digest {
        None => (State::AllowAll, Bytes::new()),
        Some(digest) => (State::Rules, Bytes::from(digest)),
    };
    pb::PageWork {
        crawl: page.crawl,
        url: page.url,
        priority: page.priority,
        depth: page.depth,
        redirect_hops: page.redirect_hops,
        metadata: page.metadata,
        validators: validators_to_wire(page.etag, page.last_modified),
        digest: page.digest.into(),
        robots: Some(pb::RobotsReference {
            state: state.into(),
            digest,
        }),
        delay_ms: page.delay_ms,
        attempt: page.attempt,
    }
}
