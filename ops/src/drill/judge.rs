//! What the web saw, and what the nodes' records say, against the promises.

use super::limits::SHOWN;
use super::pages::PagesRead;
use super::pause::{self, Sample};
use crate::cluster::Listed;
use crate::records;
use ::fakeweb::{
    AllowedRepeats, Arrival, CheckOptions, CrawlOutcome, Manifest, Outcome, OutcomeReport, Repeat,
    Report, check, compare_outcomes,
};
use machine::UrlState;
use proto::frontier_v1 as pb;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::time::Duration;

/// Everything a drill leaves behind.
#[derive(Debug, Default)]
pub struct Evidence {
    /// What the web saw.
    pub arrivals: Vec<Arrival>,
    /// What there was to see.
    pub manifest: Manifest,
    /// What the nodes know of every URL, at the end.
    pub listed: Vec<Listed>,
    /// The counters of all shards, at the end.
    pub shards: Vec<pb::ShardStatusResponse>,
    /// Which stored pages can be read back.
    pub pages: PagesRead,
    /// Disks were lost on purpose, more than a page has copies: pages may be gone.
    pub may_lose_pages: bool,
    /// What was ready, all along.
    pub samples: Vec<Sample>,
    /// Least time between two contacts of a host.
    pub delay: Duration,
    /// Attempts of a URL that never gives a whole answer.
    pub attempts: u32,
}

/// The judgement.
#[derive(Debug)]
pub struct Verdict {
    /// The web's side.
    pub web: Report,
    /// The records' side.
    pub outcomes: OutcomeReport,
    /// URLs neither fetched nor ended with a reason, or whose stored page cannot be read.
    pub lost: BTreeSet<String>,
    /// Pages whose every copy was on a disk that was lost on purpose.
    pub gone: usize,
    /// Requests beyond the usual number that no lost lease and no reported return to the queue explains.
    pub repeats: u64,
    /// Leases that the nodes report lost.
    pub lost_leases: u64,
    /// Reports that put their page back.
    pub requeued: u64,
    /// URLs that ended as unfetchable, all their leases or attempts lost: not lost, since the reason is there.
    pub unfetchable: u64,
    /// Shards whose terms do not add up.
    pub unconserved: Vec<u64>,
    /// Longest time without a request while work was ready.
    pub longest_pause: Option<Duration>,
}

impl Verdict {
    /// Judges.
    pub fn of(evidence: Evidence) -> Self {
        let lost_of_pages = lost_leases(&evidence.listed);
        let options = CheckOptions {
            min_delay_ms: u32::try_from(evidence.delay.as_millis()).unwrap_or(u32::MAX),
            allowed_repeats: lost_of_pages.clone(),
            attempts: BTreeMap::from([
                (Outcome::ServerError, evidence.attempts),
                (Outcome::Truncated, evidence.attempts),
            ]),
            ..CheckOptions::default()
        };
        let mut times: Vec<u64> = evidence.arrivals.iter().map(|a| a.t_ns).collect();
        times.sort_unstable();
        let longest_pause = pause::longest_ns(&times, &evidence.samples).map(Duration::from_nanos);
        let web = check(evidence.arrivals, &evidence.manifest, &options);
        let outcomes = compare_outcomes(outcomes(&evidence.listed), &evidence.manifest);
        let mut lost = lost(&web, &evidence.listed, &evidence.manifest);
        lost.extend(evidence.pages.unreadable);
        let gone = evidence.pages.gone.len();
        if !evidence.may_lose_pages {
            lost.extend(evidence.pages.gone);
        }
        let expired = counter(&evidence.shards, "leases_expired");
        let requeued =
            counter(&evidence.shards, "pages_requeue") + counter(&evidence.shards, "outbox_full");
        let of_pages = lost_of_pages.values().map(|n| u64::from(*n)).sum();
        let other_leases = expired.saturating_sub(of_pages);
        Self {
            repeats: unexplained(&web.repeats, &evidence.manifest, requeued, other_leases),
            lost_leases: expired,
            requeued,
            unfetchable: counter(&evidence.shards, "ended_unfetchable"),
            unconserved: unconserved(&evidence.shards),
            web,
            outcomes,
            lost,
            gone,
            longest_pause,
        }
    }

    /// Whether every promise held.
    pub fn holds(&self) -> bool {
        let totals = &self.web.totals;
        totals.early_contacts + totals.unexpected + self.repeats == 0
            && self.lost.is_empty()
            && self.unconserved.is_empty()
            && self.outcomes.wrong_digests.is_empty()
            && self.outcomes.duplicates.is_empty()
            && self.outcomes.unknown.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.web)?;
        for url in self.lost.iter().take(SHOWN) {
            writeln!(f, "lost: {url}")?;
        }
        for wrong in self.outcomes.wrong_digests.iter().take(SHOWN) {
            writeln!(f, "wrong bytes: {}", wrong.url)?;
        }
        for wrong in self.outcomes.wrong_outcomes.iter().take(SHOWN) {
            let (expected, got) = (wrong.expected.name(), wrong.reported.name());
            writeln!(f, "ended as {got} instead of {expected}: {}", wrong.url)?;
        }
        for shard in &self.unconserved {
            writeln!(f, "shard {shard} does not conserve its URLs")?;
        }
        if self.gone > 0 {
            writeln!(f, "pages with every copy on a lost disk: {}", self.gone)?;
        }
        let pause = self.longest_pause.map_or(0, |pause| pause.as_millis());
        writeln!(
            f,
            "leases lost {}, pages put back {}, ended as unfetchable {}; longest pause with work ready {pause} ms",
            self.lost_leases, self.requeued, self.unfetchable
        )?;
        write!(
            f,
            "early contacts {}, lost URLs {}, repeats beyond lost leases {}: {}",
            self.web.totals.early_contacts,
            self.lost.len(),
            self.repeats,
            if self.holds() {
                "every promise held"
            } else {
                "A PROMISE BROKE"
            }
        )
    }
}

/// How often each page may have been fetched without a report.
fn lost_leases(listed: &[Listed]) -> AllowedRepeats {
    let pages = listed.iter().filter(|url| is_page(url));
    let lost = pages.filter(|url| url.record.lost_leases > 0);
    lost.map(|url| (url.url.clone(), url.record.lost_leases))
        .collect()
}

fn is_page(listed: &Listed) -> bool {
    listed.kind == pb::lease_key::Kind::Page
}

fn outcomes(listed: &[Listed]) -> Vec<CrawlOutcome> {
    let pages = listed.iter().filter(|url| is_page(url));
    let named = pages.filter_map(|url| {
        let record = &url.record;
        let digest = (!record.digest.is_empty()).then(|| hex::encode(&record.digest));
        Some(CrawlOutcome {
            url: url.url.clone(),
            outcome: records::outcome(state(record)?, record.last_code, record.status)?,
            digest,
        })
    });
    named.collect()
}

/// The wire's state in the machine's words.
fn state(record: &pb::UrlRecord) -> Option<UrlState> {
    use pb::url_record::State;
    match record.state() {
        State::Unspecified => None,
        State::Queued => Some(UrlState::Queued),
        State::Leased => Some(UrlState::Leased),
        State::Scheduled => Some(UrlState::Scheduled),
        State::Done => Some(UrlState::Done),
        State::Removed => Some(UrlState::Removed),
        State::Refused => Some(UrlState::Refused),
    }
}

/// Pages that were never answered finally and have no reason; pages without a record; pages still waiting at the end.
fn lost(web: &Report, listed: &[Listed], manifest: &Manifest) -> BTreeSet<String> {
    let of_pages = listed.iter().filter(|url| is_page(url));
    let records: BTreeMap<&str, &pb::UrlRecord> = of_pages
        .map(|url| (url.url.as_str(), &url.record))
        .collect();
    let has_reason = |url: &str| {
        let record = records.get(url);
        record.is_some_and(|r| state(r) == Some(UrlState::Refused) && !r.last_reason.is_empty())
    };
    let unanswered = web
        .missing
        .iter()
        .filter(|missing| missing.expected != "robots");
    let unanswered = unanswered.map(|missing| missing.url.as_str());
    let unended = manifest.entries.values().filter(|entry| {
        let waits = entry.outcome == Outcome::UnreachableRobots;
        match records.get(entry.url.as_str()).map(|record| state(record)) {
            None | Some(None) => true,
            Some(Some(UrlState::Queued | UrlState::Leased)) => !waits,
            Some(Some(_)) => false,
        }
    });
    unanswered
        .filter(|url| !has_reason(url))
        .chain(unended.map(|entry| entry.url.as_str()))
        .map(str::to_owned)
        .collect()
}

/// Requests beyond those allowed: of pages less those put back, of robots files less the leases that were not of pages.
fn unexplained(repeats: &[Repeat], manifest: &Manifest, requeued: u64, other_leases: u64) -> u64 {
    let facts = manifest.hosts.values().flat_map(|facts| &facts.robots_urls);
    let robots: HashSet<&str> = facts.map(String::as_str).collect();
    let beyond = |of_robots: bool| -> u64 {
        repeats
            .iter()
            .filter(|repeat| robots.contains(repeat.url.as_str()) == of_robots)
            .map(|repeat| u64::from(repeat.arrivals - repeat.allowed))
            .sum()
    };
    beyond(false).saturating_sub(requeued) + beyond(true).saturating_sub(other_leases)
}

/// A counter over all shards.
fn counter(shards: &[pb::ShardStatusResponse], name: &str) -> u64 {
    shards.iter().filter_map(|s| s.counters.get(name)).sum()
}

/// The shards where accepted is not the sum of what became of it.
fn unconserved(shards: &[pb::ShardStatusResponse]) -> Vec<u64> {
    let broken = shards
        .iter()
        .filter(|shard| !shard.terms.as_ref().is_some_and(crate::crawl::conserved));
    broken.map(|shard| shard.shard).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "judge_tests.rs"]
mod tests;
