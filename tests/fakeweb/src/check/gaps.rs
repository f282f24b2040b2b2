//! The pace at each host name, whatever the port and the kind of request.

use std::collections::BTreeMap;

use super::coverage::url_of;
use super::options::CheckOptions;
use super::report::{EarlyContact, HostGap, Report};
use crate::manifest::Manifest;
use crate::server::Arrival;

const NS_PER_MS: u64 = 1_000_000;

/// Fills in early contacts, hosts and the pace's totals; `arrivals` are in order of time.
pub(super) fn judge(
    arrivals: &[Arrival],
    manifest: &Manifest,
    options: &CheckOptions,
    report: &mut Report,
) {
    let mut by_host: BTreeMap<&str, Vec<&Arrival>> = BTreeMap::new();
    for arrival in arrivals {
        by_host.entry(&arrival.host).or_default().push(arrival);
    }
    for (host, list) in by_host {
        report.hosts.push(judge_host(
            host,
            &list,
            manifest,
            options,
            &mut report.early_contacts,
        ));
    }
    report.early_contacts.sort_by_key(|early| early.t_ns);
    report
        .hosts
        .sort_by_key(|host| host.min_gap_ns.unwrap_or(u64::MAX));
    report.totals.min_gap_ns = report.hosts.first().and_then(|host| host.min_gap_ns);
    if let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) {
        report.totals.seconds = (last.t_ns - first.t_ns) as f64 / 1e9;
    }
}

fn judge_host(
    host: &str,
    list: &[&Arrival],
    manifest: &Manifest,
    options: &CheckOptions,
    early: &mut Vec<EarlyContact>,
) -> HostGap {
    let minimum_ns = u64::from(options.min_delay_ms) * NS_PER_MS;
    let asked_ms = manifest
        .hosts
        .get(host)
        .map_or(0, |facts| facts.crawl_delay_ms);
    let page_ns = minimum_ns.max(u64::from(asked_ms) * NS_PER_MS);
    let mut min_gap_ns: Option<u64> = None;
    for pair in list.windows(2) {
        let (previous, next) = (pair[0], pair[1]);
        let gap_ns = next.t_ns - previous.t_ns;
        min_gap_ns = Some(min_gap_ns.map_or(gap_ns, |least| least.min(gap_ns)));
        // A crawl-delay is known once the robots file is: requests for robots files come before.
        let due_ns = if manifest.is_robots(&url_of(next)) {
            minimum_ns
        } else {
            page_ns
        };
        let required_ns = due_ns.max(retry_after_ns(previous, manifest));
        if gap_ns < required_ns {
            early.push(EarlyContact {
                host: host.to_owned(),
                path: next.path.clone(),
                previous_path: previous.path.clone(),
                t_ns: next.t_ns,
                gap_ns,
                required_ns,
            });
        }
    }
    HostGap {
        host: host.to_owned(),
        arrivals: list.len() as u32,
        min_gap_ns,
        required_ns: page_ns,
    }
}

/// How long the answer to `arrival` asked that its host be left alone.
fn retry_after_ns(arrival: &Arrival, manifest: &Manifest) -> u64 {
    if arrival.status != 503 {
        return 0;
    }
    let entry = manifest.entries.get(&url_of(arrival));
    entry.map_or(0, |entry| u64::from(entry.retry_after_ms) * NS_PER_MS)
}
