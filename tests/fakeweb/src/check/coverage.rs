//! Which URLs were asked for: too few, too many, too often.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::options::CheckOptions;
use super::report::{Missing, Reason, Repeat, Report, Unexpected};
use crate::manifest::{Manifest, ManifestEntry, Outcome};
use crate::server::Arrival;
use crate::web::canonical_path;

/// The canonical URL of a request.
pub(super) fn url_of(arrival: &Arrival) -> String {
    format!("http://{}{}", arrival.host, canonical_path(&arrival.path))
}

/// What was seen of one URL.
#[derive(Default)]
struct Seen {
    arrivals: u32,
    /// Whether an answer had the final status.
    finished: bool,
}

/// Fills in missing, unexpected and repeated URLs; `arrivals` are in order of time.
pub(super) fn judge(
    arrivals: &[Arrival],
    manifest: &Manifest,
    options: &CheckOptions,
    report: &mut Report,
) {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let mut known_robots: HashSet<String> = HashSet::new();
    let origins = robots_origins(manifest);
    report.totals.arrivals = arrivals.len() as u64;
    for arrival in arrivals {
        let url = url_of(arrival);
        let entry = manifest.entries.get(&url);
        let of_seen = seen.entry(url.clone()).or_default();
        of_seen.arrivals += 1;
        if origins.contains_key(url.as_str()) {
            report.totals.robots_arrivals += 1;
            of_seen.finished = true;
            known_robots.insert(url);
            continue;
        }
        of_seen.finished |= entry.is_some_and(|entry| is_final(entry, arrival.status));
        let before_robots =
            options.robots_first && !robots_known(&arrival.host, manifest, &known_robots);
        if let Some(reason) = complaint(entry, arrival.status, before_robots) {
            report.unexpected.push(Unexpected {
                url,
                status: arrival.status,
                t_ns: arrival.t_ns,
                reason,
            });
        }
    }
    for (url, of_seen) in &seen {
        let allowed = allowed(url, manifest, &origins, options);
        if of_seen.arrivals > allowed {
            report.repeats.push(Repeat {
                url: url.clone(),
                arrivals: of_seen.arrivals,
                allowed,
            });
        }
    }
    report.totals.urls_contacted = seen
        .keys()
        .filter(|url| !origins.contains_key(url.as_str()))
        .count() as u64;
    judge_missing(&seen, manifest, options, report);
}

/// Each URL of a robots file, and whether the file of some host behind it is unreachable.
fn robots_origins(manifest: &Manifest) -> HashMap<&str, bool> {
    let mut origins = HashMap::new();
    for facts in manifest.hosts.values() {
        for url in &facts.robots_urls {
            *origins.entry(url.as_str()).or_default() |= facts.robots_unreachable;
        }
    }
    origins
}

fn robots_known(host: &str, manifest: &Manifest, known: &HashSet<String>) -> bool {
    manifest
        .hosts
        .get(host)
        .is_none_or(|facts| facts.robots_urls.iter().all(|url| known.contains(url)))
}

/// A 304 is as final as the 200 whose validators it confirms.
fn is_final(entry: &ManifestEntry, status: u16) -> bool {
    entry.status == Some(status) || (status == 304 && entry.status == Some(200))
}

fn complaint(entry: Option<&ManifestEntry>, status: u16, before_robots: bool) -> Option<Reason> {
    let Some(entry) = entry else {
        return Some(Reason::Unknown);
    };
    match entry.outcome {
        Outcome::Disallowed => Some(Reason::Disallowed),
        Outcome::UnreachableRobots => Some(Reason::UnreachableRobots),
        _ if before_robots => Some(Reason::BeforeRobots),
        _ if is_final(entry, status) || (status == 503 && entry.retries > 0) => None,
        _ => Some(Reason::WrongStatus),
    }
}

fn allowed(
    url: &str,
    manifest: &Manifest,
    origins: &HashMap<&str, bool>,
    options: &CheckOptions,
) -> u32 {
    let usual = match (origins.get(url), manifest.entries.get(url)) {
        (Some(true), _) => u32::MAX,
        (Some(false), _) => options.robots_attempts,
        (None, Some(entry)) => {
            options.attempts.get(&entry.outcome).copied().unwrap_or(1) + entry.retries
        }
        // One complaint is enough for the first request of an unknown URL.
        (None, None) => 1,
    };
    usual.saturating_add(options.allowed_repeats.get(url).copied().unwrap_or(0))
}

fn judge_missing(
    seen: &BTreeMap<String, Seen>,
    manifest: &Manifest,
    options: &CheckOptions,
    report: &mut Report,
) {
    let robots = manifest
        .hosts
        .values()
        .flat_map(|facts| &facts.robots_urls)
        .map(|url| (url, "robots"));
    let wanted = manifest
        .entries
        .values()
        .filter(|entry| !entry.outcome.is_forbidden());
    let pages = wanted.map(|entry| (&entry.url, entry.outcome.name()));
    for (url, expected) in robots.chain(pages) {
        report.totals.urls_expected += u64::from(expected != "robots");
        let of_url = seen.get(url);
        if options.complete && !of_url.is_some_and(|of_url| of_url.finished) {
            let arrivals = of_url.map_or(0, |of_url| of_url.arrivals);
            report.missing.push(Missing {
                url: url.clone(),
                expected,
                arrivals,
            });
        }
    }
}

impl Manifest {
    /// Whether a canonical URL is that of a robots file, its own host's or another's.
    pub(super) fn is_robots(&self, url: &str) -> bool {
        let path = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .map_or("", |(_, path)| path);
        path == "robots.txt" || path.starts_with("robots-moved") || path.starts_with("robots-of/")
    }
}
