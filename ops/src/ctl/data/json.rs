//! The answers for programs. Hashes and digests are hexadecimal strings.

use super::duplicates;
use super::hosts::{Found, Site};
use super::mirrors::Mirror;
use super::queues::{Queue, Queues};
use super::waits;
use proto::frontier_v1 as pb;
use serde_json::{Value, json};

pub(super) fn host(found: &Found) -> Value {
    let host = &found.host;
    let mut shown = brief(host);
    shown["shard"] = found.shard.into();
    shown["partition"] = format!("{:016x}", found.partition).into();
    shown["why"] = waits::words(host).into();
    shown["last_contact_ago_ms"] = ago_ms(host).into();
    shown["min_delay_ms"] = host.min_delay_ms.into();
    shown["failures"] = host.failures.into();
    shown["errands"] = host.errands.into();
    shown["back_off_left_ms"] = host.back_off_until_ms.saturating_sub(host.now_ms).into();
    shown["blocked_left_ms"] = host.blocked_until_ms.saturating_sub(host.now_ms).into();
    shown["lease"] = lease(host).unwrap_or(Value::Null);
    shown["queues"] = host.lanes.iter().map(lane).collect();
    shown["budgets"] = host.budgets.iter().map(budget).collect();
    shown["robots"] = host.authorities.iter().map(robots).collect();
    shown
}

fn robots(authority: &pb::AuthorityRecord) -> Value {
    json!({
        "origin": authority.origin,
        "state": authority.robots_state,
        "digest": hex::encode(&authority.robots_digest),
        "asked_crawl_delay_ms": authority.asked_crawl_delay_ms,
        "expires_unix_ms": known(authority.robots_expires_unix_ms),
    })
}

fn lane(lane: &pb::LaneRecord) -> Value {
    json!({
        "crawl": lane.crawl,
        "origin": lane.origin,
        "queued": lane.queued,
        "priority": lane.priority,
        "waits_for": lane.waits_for,
    })
}

fn budget(budget: &pb::BudgetRecord) -> Value {
    json!({
        "crawl": budget.crawl,
        "spent": budget.spent,
        "ends_unix_ms": known(budget.ends_unix_ms),
        "waits_until_unix_ms": known(budget.wait_until_unix_ms),
    })
}

fn lease(host: &pb::HostRecord) -> Option<Value> {
    let lease = host.lease?;
    Some(json!({
        "kind": lease.kind().as_str_name().to_lowercase(),
        "token": lease.token,
        "ends_in_ms": lease.deadline_ms.saturating_sub(host.now_ms),
    }))
}

/// 0 stands for nothing.
fn known(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

fn ago_ms(host: &pb::HostRecord) -> Option<u64> {
    known(host.last_contact_ms).map(|at_ms| host.now_ms.saturating_sub(at_ms))
}

fn brief(host: &pb::HostRecord) -> Value {
    json!({
        "host": host.host,
        "waits_for": host.waits_for,
        "ready": host.waits_for.is_empty(),
        "ready_in_ms": host.ready_at_ms.saturating_sub(host.now_ms),
        "queued": host.queued,
        "scheduled": host.scheduled,
        "leased": host.leased,
        "done": host.done,
        "delay_ms": host.delay_ms,
        "paused": host.paused,
        "alias": (!host.alias.is_empty()).then_some(&host.alias),
    })
}

pub(super) fn site(site: &Site) -> Value {
    json!({
        "shard": site.shard,
        "partition": format!("{:016x}", site.partition),
        "hosts": site.hosts,
        "queued": site.queued,
        "longest": site.longest.iter().map(brief).collect::<Vec<_>>(),
    })
}

pub(super) fn queues(queues: &Queues) -> Value {
    let mut shards = Vec::new();
    for (shard, of) in &queues.shards {
        let crawl = |(crawl, of): (&u32, &super::queues::CrawlQueues)| json!({ "crawl": crawl, "state": of.state, "hosts": of.hosts, "queued": of.queued });
        let terms = of.status.terms.unwrap_or_default();
        shards.push(json!({
            "shard": shard,
            "paused": of.paused,
            "accepted": terms.accepted,
            "queued": terms.queued,
            "scheduled": terms.scheduled,
            "leased": terms.leased,
            "done": terms.done,
            "removed": terms.removed,
            "refused": terms.refused,
            "hosts": of.status.active_hosts,
            "outbox_waiting": of.status.outbox_waiting,
            "crawls": of.crawls.iter().map(crawl).collect::<Vec<_>>(),
        }));
    }
    let queue = |queue: &Queue| {
        json!({
            "shard": queue.shard,
            "crawl": queue.crawl,
            "host": queue.host,
            "queued": queue.queued,
            "waits_for": queue.waits_for,
        })
    };
    let longest: Vec<Value> = queues.longest.iter().map(queue).collect();
    json!({ "shards": shards, "longest": longest })
}

pub(super) fn duplicates(found: &duplicates::Found) -> Value {
    let group = |(digest, group): &([u8; 32], super::groups::Group)| {
        json!({
            "digest": hex::encode(digest),
            "size_bytes": group.size_bytes,
            "count": group.count,
            "urls": group.urls,
        })
    };
    let mirror = |mirror: &Mirror| {
        json!({
            "hosts": [mirror.hosts.0, mirror.hosts.1],
            "shared": mirror.shared,
            "pages": [mirror.pages.0, mirror.pages.1],
        })
    };
    json!({
        "pages": found.pages,
        "payloads": found.payloads,
        "copies": found.copies,
        "copied_bytes": found.copied_bytes,
        "passed_over": found.passed_over,
        "groups": found.groups.iter().map(group).collect::<Vec<_>>(),
        "mirrors": found.mirrors.iter().map(mirror).collect::<Vec<_>>(),
    })
}
