//! What is known of URLs and hosts, as it is shown.

use machine::command::lease::LeaseKind;
use machine::{BudgetRecord, HostRecord, LaneRecord, LeaseRecord, ListedUrl, UrlRecord, UrlState};
use proto::frontier_v1 as pb;

use super::robots::validators_to_wire;

/// A URL's record; one that was never tried does not know its own URL, the asker does.
pub(crate) fn url_record(record: UrlRecord, asked: String) -> pb::UrlRecord {
    use pb::url_record::State;
    let state = match record.state {
        UrlState::Queued => State::Queued,
        UrlState::Leased => State::Leased,
        UrlState::Scheduled => State::Scheduled,
        UrlState::Done => State::Done,
        UrlState::Removed => State::Removed,
        UrlState::Refused => State::Refused,
    };
    pb::UrlRecord {
        state: state.into(),
        url: if record.url.is_empty() {
            asked
        } else {
            record.url
        },
        // The machine's codes have the wire's numbers.
        last_code: record.last_code,
        last_reason: record.last_reason,
        status: record.status,
        digest: record.digest.into(),
        stores: record.stores,
        validators: validators_to_wire(record.etag, record.last_modified),
        attempts: record.attempts,
        fetched_unix_ms: record.fetched_unix_ms,
        next_visit_unix_ms: record.next_visit_unix_ms,
        visits: record.visits,
        changes: record.changes,
        payload_size_bytes: record.payload_size_bytes,
        lost_leases: record.lost_leases,
        crawl: record.crawl,
    }
}

/// A URL of a listing.
pub(crate) fn listed_url(listed: ListedUrl) -> pb::ListedUrl {
    pb::ListedUrl {
        record: Some(url_record(listed.record, listed.url)),
        kind: kind(listed.kind).into(),
    }
}

const fn kind(kind: LeaseKind) -> pb::lease_key::Kind {
    match kind {
        LeaseKind::Page => pb::lease_key::Kind::Page,
        LeaseKind::Robots => pb::lease_key::Kind::Robots,
        LeaseKind::Errand => pb::lease_key::Kind::Errand,
    }
}

/// A host's record.
pub(crate) fn host_record(record: HostRecord) -> pb::HostRecord {
    let authorities = record
        .authorities
        .into_iter()
        .map(|authority| pb::AuthorityRecord {
            origin: authority.origin,
            robots_state: authority.robots_state.to_owned(),
            robots_digest: authority.robots_digest.into(),
            asked_crawl_delay_ms: authority.asked_crawl_delay_ms,
            robots_expires_unix_ms: authority.robots_expires_unix_ms,
        });
    pb::HostRecord {
        host: record.host,
        queued: record.queued,
        scheduled: record.scheduled,
        leased: record.leased,
        done: record.done,
        now_ms: record.now_ms,
        last_contact_ms: record.last_contact_ms,
        delay_ms: record.delay_ms,
        back_off_until_ms: record.back_off_until_ms,
        blocked_until_ms: record.blocked_until_ms,
        ready_at_ms: record.ready_at_ms,
        waits_for: record.waits_for.to_owned(),
        budget_spent: record.budget_spent,
        authorities: authorities.collect(),
        errands: record.errands,
        failures: record.failures,
        min_delay_ms: record.min_delay_ms,
        paused: record.paused,
        lease: record.lease.map(lease_record),
        lanes: record.lanes.into_iter().map(lane_record).collect(),
        budgets: record.budgets.iter().map(budget_record).collect(),
    }
}

fn lease_record(lease: LeaseRecord) -> pb::LeaseRecord {
    pb::LeaseRecord {
        kind: kind(lease.kind).into(),
        token: lease.token,
        deadline_ms: lease.deadline_ms,
    }
}

fn lane_record(lane: LaneRecord) -> pb::LaneRecord {
    pb::LaneRecord {
        crawl: lane.crawl,
        origin: lane.origin,
        queued: lane.queued,
        priority: lane.priority,
        waits_for: lane.waits_for.to_owned(),
    }
}

const fn budget_record(budget: &BudgetRecord) -> pb::BudgetRecord {
    pb::BudgetRecord {
        crawl: budget.crawl,
        spent: budget.spent,
        ends_unix_ms: budget.ends_unix_ms,
        wait_until_unix_ms: budget.wait_until_unix_ms,
    }
}
