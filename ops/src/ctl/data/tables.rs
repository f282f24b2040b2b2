//! The answers for people.

use super::super::tables::table;
use super::duplicates;
use super::hosts::{Found, Site};
use super::queues::Queues;
use super::waits::{self, time};
use proto::frontier_v1 as pb;

pub(super) fn host(found: &Found) -> String {
    let host = &found.host;
    let mut facts = table(&[]);
    for (name, value) in facts_of(found) {
        facts.add_row([name.to_owned(), value]);
    }
    let mut parts = vec![facts.to_string()];
    if !host.lanes.is_empty() {
        let mut lanes = table(&["crawl", "origin", "queued", "priority", "waits for"]);
        for lane in &host.lanes {
            lanes.add_row([
                lane.crawl.to_string(),
                lane.origin.clone(),
                lane.queued.to_string(),
                lane.priority.to_string(),
                waits::lane_words(&lane.waits_for).to_owned(),
            ]);
        }
        parts.push(lanes.to_string());
    }
    if !host.authorities.is_empty() {
        let mut robots = table(&["robots of", "state", "rules", "asked delay"]);
        for authority in &host.authorities {
            robots.add_row([
                authority.origin.clone(),
                authority.robots_state.clone(),
                digest(&authority.robots_digest),
                time(authority.asked_crawl_delay_ms),
            ]);
        }
        parts.push(robots.to_string());
    }
    parts.join("\n\n")
}

fn facts_of(found: &Found) -> Vec<(&'static str, String)> {
    let host = &found.host;
    let past = |at_ms: u64| time(host.now_ms.saturating_sub(at_ms));
    let left = |at_ms: u64| match at_ms.saturating_sub(host.now_ms) {
        0 => "no".to_owned(),
        left_ms => format!("for another {}", time(left_ms)),
    };
    let contact = match host.last_contact_ms {
        0 => "never".to_owned(),
        at_ms => format!("{} ago", past(at_ms)),
    };
    let lease = host.lease.map_or("none".to_owned(), |lease| {
        let left = time(lease.deadline_ms.saturating_sub(host.now_ms));
        let kind = lease.kind().as_str_name().to_lowercase();
        format!("{kind}, token {}, ends in {left}", lease.token)
    });
    let mut facts = vec![
        ("host", host.host.clone()),
        (
            "shard",
            format!("{}, partition {:016x}", found.shard, found.partition),
        ),
        ("now", waits::words(host)),
        (
            "URLs",
            format!(
                "{} queued, {} scheduled, {} done",
                host.queued, host.scheduled, host.done
            ),
        ),
        ("lease", lease),
        ("last contact", contact),
        ("delay", delay(host)),
        ("back-off", left(host.back_off_until_ms)),
        ("blocked", left(host.blocked_until_ms)),
        ("paused", if host.paused { "yes" } else { "no" }.to_owned()),
        ("errands", host.errands.to_string()),
    ];
    for budget in &host.budgets {
        let state = match budget.wait_until_unix_ms {
            0 => "",
            _ => ", all of it: waits for the next cycle",
        };
        let words = format!(
            "crawl {}: {} pages spent{state}",
            budget.crawl, budget.spent
        );
        facts.push(("budget", words));
    }
    facts
}

fn delay(host: &pb::HostRecord) -> String {
    match host.min_delay_ms {
        0 => time(host.delay_ms),
        own_ms => format!(
            "{}, its own policy asks for {}",
            time(host.delay_ms),
            time(own_ms)
        ),
    }
}

/// As much of a digest as tells it from others.
pub(super) fn digest(digest: &[u8]) -> String {
    match digest.get(..6) {
        Some(first) => hex::encode(first),
        None => "-".to_owned(),
    }
}

pub(super) fn site(site: &Site) -> String {
    let mut hosts = table(&["host", "queued", "scheduled", "done", "now"]);
    for host in &site.longest {
        hosts.add_row([
            host.host.clone(),
            host.queued.to_string(),
            host.scheduled.to_string(),
            host.done.to_string(),
            waits::words(host),
        ]);
    }
    let (all, queued, shard) = (site.hosts, site.queued, site.shard);
    let shown = site.longest.len();
    format!("{hosts}\n{shown} of {all} hosts of the site, {queued} URLs queued, in shard {shard}")
}

pub(super) fn queues(queues: &Queues) -> String {
    let mut shards = table(&[
        "shard",
        "state",
        "hosts",
        "queued",
        "scheduled",
        "leased",
        "done",
        "removed",
        "refused",
    ]);
    let mut crawls = table(&["crawl", "shard", "state", "hosts", "queued"]);
    for (shard, of) in &queues.shards {
        let terms = of.status.terms.unwrap_or_default();
        let state = if of.paused { "paused" } else { "running" };
        let mut row = vec![shard.to_string(), state.to_owned()];
        let counts = [
            of.status.active_hosts,
            terms.queued,
            terms.scheduled,
            terms.leased,
            terms.done,
            terms.removed,
            terms.refused,
        ];
        row.extend(counts.map(|count| count.to_string()));
        shards.add_row(row);
    }
    let of_crawls = queues.shards.iter().flat_map(|(shard, of)| {
        let with_shard = move |(crawl, queues)| (crawl, shard, queues);
        of.crawls.iter().map(with_shard)
    });
    let mut rows: Vec<_> = of_crawls.collect();
    rows.sort_by_key(|(crawl, shard, _)| (**crawl, **shard));
    for (crawl, shard, of) in rows {
        crawls.add_row([
            crawl.to_string(),
            shard.to_string(),
            of.state.to_owned(),
            of.hosts.to_string(),
            of.queued.to_string(),
        ]);
    }
    let mut longest = table(&["longest queues", "crawl", "shard", "queued", "waits for"]);
    for queue in &queues.longest {
        let why = match queue.waits_for.as_str() {
            "" => "-",
            why => why,
        };
        longest.add_row([
            queue.host.clone(),
            queue.crawl.to_string(),
            queue.shard.to_string(),
            queue.queued.to_string(),
            why.to_owned(),
        ]);
    }
    format!("{shards}\n\n{crawls}\n\n{longest}")
}

pub(super) fn duplicates(found: &duplicates::Found) -> String {
    let mut parts = Vec::new();
    if !found.groups.is_empty() {
        let mut groups = table(&["payload", "bytes", "URLs", "such as"]);
        for (payload, group) in &found.groups {
            let shown: Vec<&str> = group.urls.iter().take(3).map(String::as_str).collect();
            groups.add_row([
                digest(payload),
                group.size_bytes.to_string(),
                group.count.to_string(),
                shown.join("\n"),
            ]);
        }
        parts.push(groups.to_string());
    }
    if !found.mirrors.is_empty() {
        let mut mirrors = table(&["host", "pages", "mirrors", "pages", "shared"]);
        for mirror in &found.mirrors {
            mirrors.add_row([
                mirror.hosts.0.clone(),
                mirror.pages.0.to_string(),
                mirror.hosts.1.clone(),
                mirror.pages.1.to_string(),
                mirror.shared.to_string(),
            ]);
        }
        parts.push(mirrors.to_string());
    }
    let (pages, payloads, copies) = (found.pages, found.payloads, found.copies);
    let mut sum =
        format!("{pages} pages: {payloads} payloads under several URLs, {copies} URLs too many");
    if found.passed_over > 0 {
        sum += &format!(
            "; {} pages or pairs of hosts were too many to follow",
            found.passed_over
        );
    }
    parts.push(sum);
    parts.join("\n\n")
}
