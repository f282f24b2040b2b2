//! What the reference model remembers: plain lists.

use crate::{
    authority::Authority,
    command::{
        discover::{Errand, Item},
        lease::{Lease as Grant, LeaseKey},
        set_policy::CrawlPolicy,
        split::SplitDone,
    },
    invariants::View,
};
use std::collections::BTreeMap;

/// What the model finds wrong.
pub type Judged<T = ()> = Result<T, String>;

/// The shard as the model knows it.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub now_ms: u64,
    pub wall_ms: u64,
    pub token: u64,
    pub crawls: BTreeMap<u32, Crawl>,
    /// Nothing is leased.
    pub paused: bool,
    pub hosts: Vec<Host>,
    pub urls: Vec<Url>,
    pub leases: Vec<Lease>,
    pub errands: Vec<WaitingErrand>,
    pub sessions: BTreeMap<Vec<u8>, Session>,
    pub outbox: Vec<Item>,
    pub outbox_in: u64,
    pub delivered: u64,
    pub accepted: u64,
    pub shard: u64,
    pub epoch: u64,
    /// Splits of this shard with the epoch that each command carried.
    pub splits: Vec<(SplitDone, u64)>,
    /// Models of children that nobody took yet.
    pub children: Vec<Model>,
    /// Partition hashes of the shard, inclusive.
    pub range: (u64, u64),
    /// Of done, removed and refused: what the shard's books have beyond (or short of) its URLs since splits.
    pub beyond: Beyond,
    /// Removed and forgotten URLs, which stay counted.
    pub forgotten: u64,
    /// Leases expired in this entry: their hosts' places in the ready order are not known.
    pub expired_now: bool,
    /// Token of the last grant out of the order of classes, and grants since the longest-ready host was served.
    pub unfair_token: u64,
    pub passed_over: u64,
    /// The newest recovery: its id, until when hosts may have been contacted, the counter before its jump.
    pub recovery: Option<(u64, u64, u64)>,
    /// How each lease ended that is not out any more.
    pub ended: BTreeMap<(LeaseKey, u64), Ended>,
}

/// What the books of ended URLs have beyond what stands in the rows; below zero at a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    pub done: i64,
    pub removed: i64,
    pub refused: i64,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Closed,
    Requeued,
    Expired,
}

/// A crawl.
#[derive(Clone, Copy, Debug)]
pub struct Crawl {
    pub given: CrawlPolicy,
    pub removed: bool,
    /// The removal also forgets.
    pub forget: bool,
}

/// A host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub partition: u64,
    pub name: String,
    pub last_contact_ms: Option<u64>,
    pub back_off_until_ms: u64,
    pub failures: u32,
    pub response_ms: u64,
    pub blocked_until_ms: u64,
    pub min_delay_ms: u64,
    /// Nothing of it is leased.
    pub paused: bool,
    pub robots: BTreeMap<Authority, Robots>,
    /// Whether an errand was leased after the last page.
    pub errand_last: bool,
    /// Pages leased while an errand waited, since the last errand.
    pub page_passed: u32,
    pub budgets: BTreeMap<u32, Budget>,
    /// As its row says: the delay by which it stands in the ready order.
    pub stored_delay_ms: u64,
    /// As its row says: since when it has had work.
    pub since_ms: u64,
}

/// What a crawl spent on a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    pub ends_unix_ms: u64,
    pub spent: u64,
    /// As its row says: nothing more until then; 0 = not spent.
    pub wait_until_unix_ms: u64,
}

/// Where the robots state of an authority stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Unknown,
    Fresh,
    Unreachable,
    Pending,
}

/// The last good answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Good {
    #[default]
    Nothing,
    AllowAll,
    Rules(Vec<u8>),
}

/// Robots state of an authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    pub phase: Phase,
    pub good: Good,
    pub attempt: u32,
    pub asked_ms: u64,
    /// Fresh: Unix ms; else shard time.
    pub until_ms: u64,
    pub failures: u32,
    /// Unix ms since which nothing was reached; 0 = reached.
    pub since_unix_ms: u64,
    pub ending: bool,
}

impl Robots {
    /// A try reached nothing; the next is due then. After 30 days of it what was known goes and what waits ends.
    pub fn fail(&mut self, until_ms: u64, wall_ms: u64) {
        (self.phase, self.until_ms) = (Phase::Unreachable, until_ms);
        self.failures += 1;
        if self.since_unix_ms == 0 || self.since_unix_ms > wall_ms {
            self.since_unix_ms = wall_ms;
        }
        if wall_ms - self.since_unix_ms >= 30 * 86_400_000 {
            self.ending = true;
            self.good = Good::Nothing;
        }
    }
}

/// Where a URL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Queued { due_ms: u64 },
    Leased,
    Scheduled { due_unix_ms: u64 },
    Done,
    Removed,
    Refused,
}

/// A URL that was accepted.
#[derive(Clone, Debug)]
pub struct Url {
    pub crawl: u32,
    pub partition: u64,
    pub fingerprint: u64,
    pub url: String,
    pub host: String,
    pub authority: Authority,
    pub priority: u8,
    pub depth: u32,
    pub redirect_hops: u32,
    pub metadata: BTreeMap<String, String>,
    pub place: Where,
    pub attempts: u32,
    pub digest: Vec<u8>,
    pub etag: String,
}

/// A lease that is out.
#[derive(Clone, Debug)]
pub struct Lease {
    pub key: LeaseKey,
    pub token: u64,
    pub granted_ms: u64,
    pub deadline_ms: u64,
    pub host: String,
    pub authority: Option<Authority>,
    /// Pages: the crawl, and the due time to go back to.
    pub crawl: u32,
    pub due_ms: u64,
    /// Errands: the errand.
    pub errand: Option<Errand>,
    pub removed: bool,
    pub forget: bool,
}

/// An errand that waits or is leased.
#[derive(Clone, Debug)]
pub struct WaitingErrand {
    pub errand: Errand,
    pub host: String,
    pub expiries: u32,
}

/// The last answer to a session.
#[derive(Clone, Debug)]
pub struct Session {
    pub number: u64,
    pub grants: Vec<Grant>,
    pub expires_ms: u64,
}

impl Model {
    pub fn holds(&self, partition: u64) -> bool {
        (self.range.0..=self.range.1).contains(&partition)
    }

    pub fn host(&self, partition: u64, name: &str) -> Option<&Host> {
        self.hosts
            .iter()
            .find(|host| host.partition == partition && host.name == name)
    }

    pub fn host_mut(&mut self, partition: u64, name: &str) -> Judged<&mut Host> {
        let found = self
            .hosts
            .iter_mut()
            .find(|host| host.partition == partition && host.name == name);
        found.ok_or_else(|| format!("the model has no host {name}"))
    }

    pub fn host_or_new(&mut self, partition: u64, name: &str) -> &mut Host {
        let at = self
            .hosts
            .iter()
            .position(|host| host.partition == partition && host.name == name)
            .unwrap_or_else(|| {
                self.hosts.push(Host {
                    partition,
                    name: name.into(),
                    last_contact_ms: self.recovery.map(|(_, until_ms, _)| until_ms),
                    ..Host::default()
                });
                self.hosts.len() - 1
            });
        &mut self.hosts[at]
    }

    pub fn url(&self, partition: u64, fingerprint: u64) -> Option<&Url> {
        self.urls
            .iter()
            .find(|url| url.partition == partition && url.fingerprint == fingerprint)
    }

    pub fn url_mut(&mut self, partition: u64, fingerprint: u64) -> Option<&mut Url> {
        self.urls
            .iter_mut()
            .find(|url| url.partition == partition && url.fingerprint == fingerprint)
    }

    pub fn lease(&self, key: LeaseKey) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.key == key)
    }

    /// URLs queued on a host.
    pub fn queued_on(&self, partition: u64, name: &str) -> impl Iterator<Item = &Url> {
        self.urls.iter().filter(move |url| {
            url.partition == partition
                && url.host == name
                && matches!(url.place, Where::Queued { .. })
        })
    }

    /// Whether anything refers to a host.
    pub fn is_referred(&self, partition: u64, name: &str) -> bool {
        let waits = |place: Where| {
            matches!(
                place,
                Where::Queued { .. } | Where::Leased | Where::Scheduled { .. }
            )
        };
        self.urls
            .iter()
            .any(|url| url.partition == partition && url.host == name && waits(url.place))
            || self
                .leases
                .iter()
                .any(|lease| lease.key.partition == partition && lease.host == name)
            || self
                .errands
                .iter()
                .any(|waiting| waiting.errand.partition == partition && waiting.host == name)
    }

    pub fn is_live(&self, crawl: u32) -> bool {
        let is_live = |crawl: &Crawl| !crawl.removed && !crawl.given.paused;
        !self.paused && self.crawls.get(&crawl).is_some_and(is_live)
    }

    /// Where the rows say a URL is; `None`: nothing is known of it.
    pub fn place_in(view: &View, partition: u64, fingerprint: u64) -> Option<Where> {
        use crate::keys::url::Stored;
        let queued = view
            .queue
            .iter()
            .find(|row| row.host.0 == partition && row.place.fingerprint == fingerprint);
        if let Some(row) = queued {
            return Some(Where::Queued {
                due_ms: row.place.due_ms,
            });
        }
        if let Some(visit) = view
            .schedule
            .iter()
            .find(|row| row.host.0 == partition && row.fingerprint == fingerprint)
        {
            return Some(Where::Scheduled {
                due_unix_ms: visit.due_unix_ms,
            });
        }
        if view.leases.contains_key(&(partition, 1, fingerprint)) {
            return Some(Where::Leased);
        }
        match view.urls.get(&(partition, fingerprint))?.state() {
            Stored::Done => Some(Where::Done),
            Stored::Removed => Some(Where::Removed),
            Stored::Refused => Some(Where::Refused),
            Stored::Waiting | Stored::Scheduled => None,
        }
    }
}

/// An error unless the condition holds.
pub fn must(holds: bool, what: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(what()) }
}
