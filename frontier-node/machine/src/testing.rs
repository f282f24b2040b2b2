//! Rows in memory for tests, and a shard to speak with in short words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::{
    Body, Command, CommandReply, Counter, Entry, HostRecord, Machine, Overlay, Row, Rows,
    RowsError, ShardId, UrlRecord,
    command::{
        deliver::Deliver,
        discover::{Discover, DiscoverResult, Errand, ErrandResult, Item, ItemKind, Link},
        lease::{Lease, LeaseCall, LeaseReply, PageWork, RobotsWork, Work},
        release::{Release, ReleaseBatch},
        remove::{Remove, RemoveReply, Target},
        report::{
            Contact, Outcome, PageCode, PageOutcome, Report, ReportBatch, ReportResult, RobotsCode,
            RobotsFound, RobotsOutcome,
        },
        set_policy::{CrawlPolicy, HostPolicy, Policy, SetPolicy},
        split::{Split, SplitReply},
    },
    hash,
};
use std::{cell::Cell, collections::BTreeMap};

/// Rows in a map that count their reads.
#[derive(Debug, Default)]
pub(crate) struct MemRows {
    pub rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub gets: Cell<u64>,
    pub scans: Cell<u64>,
    pub scanned: Cell<u64>,
}

impl MemRows {
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.rows.insert(key, value);
    }

    pub fn commit(&mut self, overlay: &mut Overlay) {
        for (key, value) in overlay.drain() {
            match value {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }

    pub fn count(&self, tag: u8) -> usize {
        self.rows.range(vec![tag]..vec![tag + 1]).count()
    }

    /// Gets, scans and scanned rows since the last call.
    pub fn take_reads(&self) -> (u64, u64, u64) {
        (self.gets.take(), self.scans.take(), self.scanned.take())
    }
}

impl Rows for MemRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.gets.set(self.gets.get() + 1);
        Ok(self.rows.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        self.scans.set(self.scans.get() + 1);
        let range = (
            std::ops::Bound::Included(from),
            std::ops::Bound::Excluded(to),
        );
        let found: Vec<_> = self
            .rows
            .range::<[u8], _>(range)
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.scanned.set(self.scanned.get() + found.len() as u64);
        Ok(found)
    }
}

/// Day in ms.
pub(crate) const DAY_MS: u64 = 86_400_000;
/// A wall time far from zero.
pub(crate) const WALL_MS: u64 = 1_700_000_000_000;
/// The crawl most tests use.
pub(crate) const CRAWL: u32 = 1;

/// A shard over everything, with crawl 1.
pub(crate) struct Shard {
    pub m: Machine,
    pub rows: MemRows,
    pub overlay: Overlay,
    pub now_ms: u64,
    pub wall_ms: u64,
    pub calls: u64,
}

/// Partition of a URL: a hash of the last two labels of its host.
pub(crate) fn partition(url: &str) -> u64 {
    let host = crate::authority::Authority::of(url).unwrap().0;
    let site = host.rsplitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    hash::bytes(7, site.as_bytes())
}

pub(crate) fn fingerprint(crawl: u32, url: &str) -> u64 {
    hash::bytes(u64::from(crawl), url.as_bytes())
}

pub(crate) fn link(crawl: u32, url: &str, priority: u32) -> Link {
    Link {
        crawl,
        url: url.into(),
        partition: partition(url),
        fingerprint: fingerprint(crawl, url),
        priority,
        ..Link::default()
    }
}

pub(crate) fn item(link: Link) -> Item {
    Item {
        kind: Some(ItemKind::Link(link)),
    }
}

/// An answer that arrived `age_ms` before the report.
pub(crate) fn answered(age_ms: u64) -> Contact {
    Contact {
        since_first_byte_ms: Some(age_ms),
        ..Contact::default()
    }
}

pub(crate) fn unwritten() -> Contact {
    Contact {
        nothing_written: true,
        ..Contact::default()
    }
}

pub(crate) fn outcome(code: PageCode) -> PageOutcome {
    PageOutcome {
        code: code as i32,
        ..PageOutcome::default()
    }
}

pub(crate) fn stored(content: u8) -> PageOutcome {
    PageOutcome {
        status: 200,
        digest: vec![content; 32],
        etag: format!("\"{content}\""),
        payload_size_bytes: 10,
        stores: vec![1],
        ..outcome(PageCode::Stored)
    }
}

pub(crate) fn found(code: RobotsCode) -> RobotsFound {
    RobotsFound {
        code: code as i32,
        ..RobotsFound::default()
    }
}

pub(crate) fn rules(body: &str, crawl_delay_ms: u64) -> RobotsFound {
    let digest = (0..4)
        .flat_map(|part| hash::bytes(part, body.as_bytes()).to_be_bytes())
        .collect();
    RobotsFound {
        body: body.into(),
        digest,
        crawl_delay_ms,
        status: 200,
        etag: "\"r\"".into(),
        ..found(RobotsCode::Rules)
    }
}

impl Shard {
    pub fn new() -> Self {
        let mut shard = Self::bare();
        shard.crawl(CrawlPolicy {
            crawl: CRAWL,
            ..CrawlPolicy::default()
        });
        shard
    }

    /// A shard without a crawl.
    pub fn bare() -> Self {
        let mut overlay = Overlay::default();
        let m = Machine::create(ShardId(1), 0, u64::MAX, &mut overlay);
        Self {
            m,
            rows: MemRows::default(),
            overlay,
            now_ms: 1_000_000,
            wall_ms: WALL_MS,
            calls: 0,
        }
    }

    /// Applies one entry, commits it and checks what must hold after every entry.
    pub fn entry(&mut self, bodies: Vec<Body>) -> Vec<CommandReply> {
        let commands = bodies
            .into_iter()
            .map(|body| Command { body: Some(body) })
            .collect();
        let entry = Entry {
            now_ms: self.now_ms,
            wall_unix_ms: self.wall_ms,
            commands,
        };
        let reply = self
            .m
            .apply(&self.rows, &entry, &mut self.overlay)
            .expect("applies");
        self.rows.commit(&mut self.overlay);
        let terms = self.m.status().terms;
        assert!(terms.hold(), "{terms:?}");
        reply.replies
    }

    pub fn one(&mut self, body: Body) -> CommandReply {
        self.entry(vec![body]).pop().unwrap()
    }

    pub fn tick(&mut self) {
        self.entry(Vec::new());
    }

    /// Time passes, on both clocks.
    pub fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.wall_ms += ms;
    }

    pub fn crawl(&mut self, policy: CrawlPolicy) {
        assert_eq!(self.set(Policy::Crawl(policy)), "");
    }

    pub fn host_policy(&mut self, url: &str, min_delay_ms: u64, block_for_ms: u64) {
        let host = crate::authority::Authority::of(url).unwrap().0.into();
        assert_eq!(
            self.set(Policy::Host(HostPolicy {
                host,
                partition: partition(url),
                min_delay_ms,
                block_for_ms
            })),
            ""
        );
    }

    pub fn set(&mut self, policy: Policy) -> &'static str {
        match self.one(Body::SetPolicy(SetPolicy {
            policy: Some(policy),
        })) {
            CommandReply::SetPolicy(reply) => reply.refused,
            other => panic!("{other:?}"),
        }
    }

    pub fn items(&mut self, items: Vec<Item>) -> Vec<DiscoverResult> {
        match self.one(Body::Discover(Discover { items })) {
            CommandReply::Discover(results) => results,
            other => panic!("{other:?}"),
        }
    }

    pub fn offer(&mut self, link: Link) -> DiscoverResult {
        self.items(vec![item(link)]).pop().unwrap()
    }

    /// Links of crawl 1 that must be new.
    pub fn add(&mut self, urls: &[&str]) {
        for url in urls {
            assert_eq!(
                self.offer(link(CRAWL, url, 100)),
                DiscoverResult::New,
                "{url}"
            );
        }
    }

    pub fn errand(&mut self, errand: Errand) -> DiscoverResult {
        self.items(vec![Item {
            kind: Some(ItemKind::Errand(errand)),
        }])
        .pop()
        .unwrap()
    }

    pub fn errand_result(&mut self, result: ErrandResult) -> DiscoverResult {
        self.items(vec![Item {
            kind: Some(ItemKind::ErrandResult(result)),
        }])
        .pop()
        .unwrap()
    }

    pub fn call(&mut self, session: u8, number: u64, max_leases: u32) -> LeaseReply {
        match self.one(Body::Lease(LeaseCall {
            session: vec![session; 16],
            number,
            max_leases,
            ttl_ms: 60_000,
        })) {
            CommandReply::Lease(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// New leases for session 1.
    pub fn lease(&mut self, max_leases: u32) -> Vec<Lease> {
        self.calls += 1;
        match self.call(1, self.calls, max_leases) {
            LeaseReply::Granted {
                leases,
                repeated: false,
                ..
            } => leases,
            other => panic!("{other:?}"),
        }
    }

    pub fn lease_one(&mut self) -> Lease {
        self.lease(1).pop().expect("a lease")
    }

    pub fn lease_page(&mut self) -> (Lease, PageWork) {
        let lease = self.lease_one();
        match lease.work.clone() {
            Work::Page(page) => (lease, page),
            other => panic!("{other:?}"),
        }
    }

    pub fn lease_robots(&mut self) -> (Lease, RobotsWork) {
        let lease = self.lease_one();
        match lease.work.clone() {
            Work::Robots(robots) => (lease, robots),
            other => panic!("{other:?}"),
        }
    }

    pub fn report(&mut self, reports: Vec<Report>) -> Vec<ReportResult> {
        match self.one(Body::Report(ReportBatch { items: reports })) {
            CommandReply::Report(results) => results,
            other => panic!("{other:?}"),
        }
    }

    pub fn close(&mut self, lease: &Lease, contact: Contact, page: PageOutcome) -> ReportResult {
        self.report(vec![page_report(lease, contact, page)])
            .pop()
            .unwrap()
    }

    pub fn close_robots(
        &mut self,
        lease: &Lease,
        contact: Contact,
        found: RobotsFound,
    ) -> ReportResult {
        self.report(vec![robots_report(lease, contact, found)])
            .pop()
            .unwrap()
    }

    pub fn release(&mut self, lease: &Lease) -> ReportResult {
        let items = vec![Release {
            key: Some(lease.key),
            token: lease.token,
        }];
        match self.one(Body::Release(ReleaseBatch { items })) {
            CommandReply::Release(mut results) => results.pop().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub fn remove(&mut self, target: Target, forget: bool, cursor: Vec<u8>) -> RemoveReply {
        match self.one(Body::Remove(Remove {
            crawl: CRAWL,
            target: Some(target),
            forget,
            cursor,
        })) {
            CommandReply::Remove(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub fn deliver(&mut self, keys: Vec<Vec<u8>>) -> u64 {
        match self.one(Body::Deliver(Deliver { keys })) {
            CommandReply::Deliver(count) => count,
            other => panic!("{other:?}"),
        }
    }

    /// Adds URLs of one host, gets its robots out of the way (all allowed) and lets the delay pass.
    pub fn add_allowed(&mut self, urls: &[&str]) {
        self.add(urls);
        let (lease, _) = self.lease_robots();
        assert_eq!(
            self.close_robots(&lease, answered(0), found(RobotsCode::AllowAll)),
            ReportResult::Closed
        );
        self.pass(1_000);
    }

    pub fn url(&self, url: &str) -> Option<UrlRecord> {
        self.m
            .url_record(&self.rows, partition(url), fingerprint(CRAWL, url))
            .unwrap()
    }

    pub fn host(&self, url: &str) -> HostRecord {
        self.try_host(url).expect("a host")
    }

    pub fn try_host(&self, url: &str) -> Option<HostRecord> {
        let (name, _) = crate::authority::Authority::of(url).unwrap();
        self.m
            .host_record(&self.rows, partition(url), name)
            .unwrap()
    }

    pub fn counter(&self, counter: Counter) -> u64 {
        self.m.counter(counter)
    }

    pub fn split(&mut self, child: u64, at: u64, epoch: u64) -> SplitReply {
        match self.one(Body::Split(Split { child, at, epoch })) {
            CommandReply::Split(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// The child that the last split seeded, with its rows, as if it had its store alone.
    pub fn child(&mut self) -> Self {
        let mut children = self.m.take_children();
        let m = children.pop().expect("a child");
        assert!(children.is_empty());
        let mut rows = MemRows::default();
        for (from, to) in m.key_ranges() {
            let keys: Vec<_> = self
                .rows
                .rows
                .range(from..to)
                .map(|row| row.0.clone())
                .collect();
            for key in keys {
                let value = self.rows.rows.remove(&key).expect("a row");
                rows.put(key, value);
            }
        }
        Self {
            m,
            rows,
            overlay: Overlay::default(),
            now_ms: self.now_ms,
            wall_ms: self.wall_ms,
            calls: 0,
        }
    }

    /// The machine as its rows say.
    pub fn rebuild(&mut self) {
        let rebuilt = Machine::rebuild(&self.rows, self.m.shard())
            .expect("rows decode")
            .expect("a shard");
        assert_eq!(rebuilt.index.entries(), self.m.index.entries());
        assert_eq!(rebuilt.meta, self.m.meta);
        assert_eq!(rebuilt.hosts.len(), self.m.hosts.len());
        for (new, old) in rebuilt.hosts.from(0).zip(self.m.hosts.from(0)) {
            assert_eq!(new, old);
        }
        self.m = rebuilt;
    }
}

pub(crate) fn page_report(lease: &Lease, contact: Contact, page: PageOutcome) -> Report {
    Report {
        key: Some(lease.key),
        token: lease.token,
        contact: Some(contact),
        outcome: Some(Outcome::Page(page)),
        undelivered: Vec::new(),
    }
}

pub(crate) fn robots_report(lease: &Lease, contact: Contact, found: RobotsFound) -> Report {
    let outcome = Outcome::Robots(RobotsOutcome {
        found: Some(found),
        requeue: false,
    });
    Report {
        key: Some(lease.key),
        token: lease.token,
        contact: Some(contact),
        outcome: Some(outcome),
        undelivered: Vec::new(),
    }
}
