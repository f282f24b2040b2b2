//! The answers for people.

use super::super::tables::table;
use super::duplicates;
use super::hosts::{Found, Site};
use super::queues::Queues;
use super::waits::{self, time};
use comfy_table::Table;
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
        ("lease", lease(host)),
        ("last contact", contact),
        ("delay", delay(host)),
        ("back-off", left(host.back_off_until_ms)),
        ("blocked", left(host.blocked_until_ms)),
        ("paused", if host.paused { "yes" } else { "no" }.to_owned()),
        ("errands", host.errands.to_string()),
    ];
    facts.extend(host.budgets.iter().map(|b| ("budget", budget(b))));
    facts
}

fn lease(host: &pb::HostRecord) -> String {
    let Some(lease) = host.lease else {
        return "none".to_owned();
    };
    let left = time(lease.deadline_ms.saturating_sub(host.now_ms));
    let kind = lease.kind().as_str_name().to_lowercase();
    format!("{kind}, token {}, ends in {left}", lease.token)
}

fn budget(budget: &pb::BudgetRecord) -> String {
    let state = match budget.wait_until_unix_ms {
        0 => "",
        _ => ", all of it: waits for the next cycle",
    };
    format!(
        "crawl {}: {} pages spent{state}",
        budget.crawl, budget.spent
    )
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
    let (shards, crawls, longest) = (shards(queues), crawls(queues), longest(queues));
    format!("{shards}\n\n{crawls}\n\n{longest}")
}

fn shards(queues: &Queues) -> Table {
    const COUNTED: [&str; 9] = [
        "shard",
        "state",
        "hosts",
        "queued",
        "scheduled",
        "leased",
        "done",
        "removed",
        "refused",
    ];
    let mut shards = table(&COUNTED);
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
    shards
}

fn crawls(queues: &Queues) -> Table {
    let mut crawls = table(&["crawl", "shard", "state", "hosts", "queued"]);
    let rows = queues.shards.iter().flat_map(|(shard, of)| {
        let with_shard = move |(crawl, queues)| (crawl, shard, queues);
        of.crawls.iter().map(with_shard)
    });
    let mut rows: Vec<_> = rows.collect();
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
    crawls
}

fn longest(queues: &Queues) -> Table {
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
    longest
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctl::data::queues::{CrawlQueues, Queue, ShardQueues};

    fn known() -> Found {
        let lane = pb::LaneRecord {
            crawl: 2,
            origin: "http://a.example:81".to_owned(),
            queued: 12,
            waits_for: "paused_crawl".to_owned(),
            ..pb::LaneRecord::default()
        };
        let host = pb::HostRecord {
            host: "a.example".to_owned(),
            now_ms: 10_000,
            last_contact_ms: 9_000,
            delay_ms: 3_000,
            min_delay_ms: 3_000,
            ready_at_ms: 12_000,
            waits_for: "clock".to_owned(),
            lease: Some(pb::LeaseRecord {
                kind: pb::lease_key::Kind::Page.into(),
                token: 77,
                deadline_ms: 15_000,
            }),
            lanes: vec![lane],
            ..pb::HostRecord::default()
        };
        Found {
            shard: 3,
            partition: 255,
            host,
        }
    }

    #[test]
    fn a_host_says_all_that_holds_it() {
        let shown = host(&known());
        for part in [
            "3, partition 00000000000000ff",
            "waits for its clock: 2.000 s left of 3.000 s",
            "1.000 s ago",
            "its own policy asks for 3.000 s",
            "page, token 77, ends in 5.000 s",
            "http://a.example:81",
            "its crawl is paused",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(
            !shown.contains("robots of"),
            "nothing is known of any: {shown}"
        );
    }

    #[test]
    fn queues_come_by_shard_and_by_crawl() {
        let of = |queued| CrawlQueues {
            state: "running",
            hosts: 1,
            queued,
        };
        let shard = |crawls: &[(u32, u64)]| ShardQueues {
            status: pb::ShardStatusResponse::default(),
            paused: crawls.len() == 1,
            crawls: crawls.iter().map(|(crawl, n)| (*crawl, of(*n))).collect(),
        };
        let all = Queues {
            shards: [(4, shard(&[(1, 11), (2, 22)])), (9, shard(&[(1, 33)]))].into(),
            longest: vec![Queue {
                shard: 9,
                crawl: 1,
                host: "b.example".to_owned(),
                queued: 33,
                waits_for: String::new(),
            }],
        };
        let shown = queues(&all);
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert!(
            words.windows(2).any(|pair| pair == ["9", "paused"]),
            "{shown}"
        );
        let at = |row: [&str; 5]| words.windows(5).position(|found| found == row);
        let rows = [
            ["1", "4", "running", "1", "11"],
            ["1", "9", "running", "1", "33"],
        ];
        let order = rows.map(at);
        assert!(order[0].is_some() && order[0] < order[1], "{shown}");
        assert!(at(["b.example", "1", "9", "33", "-"]).is_some(), "{shown}");
    }
}
