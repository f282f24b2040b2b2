//! The month itself: a fleet of so many open fetches, from lease to report, event after event.

use super::Args;
use super::contacts::Contacts;
use super::row_sizes::RowSizes;
use super::sites::{self, PageId, Sites};
use crate::bench::model::{MapRows, Model, discover};
use crate::bench::node::impatient;
use crate::bench::prepared::digest;
use crate::bench::rng::{mix, share};
use crate::output::CommandError;
use frontier_node::equal_ranges;
use machine::command::lease::{Lease, LeaseCall, LeaseKey, LeaseReply, Work};
use machine::command::report::{
    Contact, Outcome, PageCode, PageOutcome, Report, ReportBatch, ReportResult, RobotsCode,
    RobotsFound, RobotsOutcome,
};
use machine::{Body, CommandReply, Machine};
use proto::frontier_v1 as pb;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links of one offer.
const LINKS: usize = 1_024;
/// How long a lease lasts, ms: the longest there is, since fetches are long.
const TTL_MS: u64 = 600_000;
/// The first byte comes between these parts of the mean fetch time.
const FIRST_BYTE: (f64, f64) = (0.1, 0.5);
/// The rest takes between these parts of it.
const REST: (f64, f64) = (0.2, 1.2);
const DAY_MS: u64 = 86_400_000;

/// Times of a month, scaled.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Least time between two contacts of a host.
    pub delay_ms: u64,
    /// Mean time of a fetch.
    pub fetch_ms: u64,
    /// How long the month lasts.
    pub lasts_ms: u64,
    fleet: f64,
    host_budget_pages: u64,
}

impl Shape {
    /// As the arguments say.
    pub fn of(args: &Args) -> Self {
        let scale = u64::from(args.scale);
        Self {
            delay_ms: args.delay_ms.saturating_mul(scale),
            fetch_ms: args.fetch_time_ms.saturating_mul(scale),
            lasts_ms: args.days.saturating_mul(DAY_MS),
            fleet: args.fleet,
            host_budget_pages: args.host_budget_pages,
        }
    }

    /// The most contacts that a host allows.
    pub const fn ceiling(self) -> u64 {
        self.lasts_ms / self.delay_ms
    }

    /// Pages that a site can give.
    pub fn allowed(self, size: u32) -> u64 {
        u64::from(size).min(self.ceiling())
    }

    /// The fleet: so many times the open fetches that the average rate takes.
    pub fn open_fetches(self, sites: &Sites) -> u32 {
        let pages = (0..sites.len()).map(|site| self.allowed(sites.size(site)) + 1);
        let average = pages.sum::<u64>() as f64 * self.fetch_ms as f64 / self.lasts_ms as f64;
        (average * self.fleet).ceil().clamp(1.0, 4_096.0) as u32
    }

    /// From the request to its first byte, and to its end.
    pub fn fetch(self, draw: u64) -> (u64, u64) {
        let between = |(least, most): (f64, f64), draw: u64| {
            ((least + (most - least) * share(draw)) * self.fetch_ms as f64) as u64
        };
        let first_byte_ms = between(FIRST_BYTE, draw);
        (first_byte_ms, first_byte_ms + between(REST, mix(draw)))
    }
}

/// What is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Page(PageId),
    Robots(u32),
}

impl Target {
    const fn site(self) -> u32 {
        match self {
            Self::Page((site, _)) | Self::Robots(site) => site,
        }
    }
}

/// A fetch under way, ordered by its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    ends_ms: u64,
    token: u64,
    responded_ms: u64,
    began_ms: u64,
    target: Target,
    key: LeaseKey,
}

impl Flight {
    fn report(&self, now_ms: u64) -> Report {
        let outcome = match self.target {
            Target::Robots(_) => Outcome::Robots(RobotsOutcome {
                found: Some(RobotsFound {
                    code: RobotsCode::AllowAll as i32,
                    status: 404,
                    ..RobotsFound::default()
                }),
                requeue: false,
            }),
            Target::Page(_) => Outcome::Page(PageOutcome {
                code: PageCode::Stored as i32,
                status: 200,
                digest: digest(self.key.fingerprint),
                payload_size_bytes: 100_000,
                etag: format!("\"{:016x}\"", self.key.fingerprint),
                stores: vec![1, 2],
                ..PageOutcome::default()
            }),
        };
        Report {
            key: Some(self.key),
            token: self.token,
            contact: Some(Contact {
                since_first_byte_ms: Some(now_ms - self.responded_ms),
                since_end_ms: now_ms - self.ends_ms,
                response_time_ms: self.responded_ms - self.began_ms,
                ..Contact::default()
            }),
            outcome: Some(outcome),
            undelivered: Vec::new(),
        }
    }
}

/// One month.
pub struct Crawl<'a> {
    sites: &'a Sites,
    shape: Shape,
    open: u32,
    model: Model,
    /// Shard time and Unix time at the start.
    origin_ms: (u64, u64),
    calls: u64,
    entries: u64,
    flights: BinaryHeap<Reverse<Flight>>,
    contacts: Contacts,
    /// Rows when the first day was over: then most hosts still have work.
    rows_after_a_day: Option<RowSizes>,
}

impl<'a> Crawl<'a> {
    /// A shard that owns everything and knows nothing but the crawl.
    pub fn new(sites: &'a Sites, shape: Shape, open: u32) -> Result<Self, CommandError> {
        let range = equal_ranges(1).into_iter().next();
        let range = range.ok_or_else(|| CommandError::Message("there is no shard".to_owned()))?;
        let policy = pb::CrawlPolicy {
            min_delay_ms: shape.delay_ms,
            host_budget_pages: shape.host_budget_pages,
            ..impatient()
        };
        let model = Model::new(range, policy)?;
        Ok(Self {
            sites,
            shape,
            open,
            origin_ms: (model.now_ms, model.wall_unix_ms),
            model,
            calls: 0,
            entries: 0,
            flights: BinaryHeap::new(),
            contacts: Contacts::new(sites, shape.delay_ms),
            rows_after_a_day: None,
        })
    }

    /// From the roots of all sites to the end of the month.
    pub fn run(&mut self) -> Result<(), CommandError> {
        let roots: Vec<PageId> = (0..self.sites.len()).map(|site| (site, 0)).collect();
        self.offer(&roots)?;
        let mut now_ms = 0;
        while now_ms < self.shape.lasts_ms {
            self.set_time(now_ms);
            if now_ms >= DAY_MS && self.rows_after_a_day.is_none() {
                self.rows_after_a_day = Some(RowSizes::of(self.rows()));
            }
            self.land(now_ms)?;
            self.launch(now_ms)?;
            now_ms = self.next_moment_ms(now_ms);
        }
        Ok(())
    }

    /// What hosts saw.
    pub const fn contacts(&self) -> &Contacts {
        &self.contacts
    }

    /// The machine at the end.
    pub const fn machine(&self) -> &Machine {
        &self.model.machine
    }

    /// Its rows.
    pub const fn rows(&self) -> &MapRows {
        &self.model.rows
    }

    /// Sizes of its rows after the first day, if there was one.
    pub const fn rows_after_a_day(&self) -> Option<&RowSizes> {
        self.rows_after_a_day.as_ref()
    }

    /// Entries applied.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    fn set_time(&mut self, now_ms: u64) {
        self.model.now_ms = self.origin_ms.0 + now_ms;
        self.model.wall_unix_ms = self.origin_ms.1 + now_ms;
    }

    fn apply(&mut self, body: Body) -> Result<CommandReply, CommandError> {
        self.entries += 1;
        self.model.apply(body)
    }

    /// When something happens next: a fetch ends, or a host is ready and a fetch is free for it.
    fn next_moment_ms(&self, now_ms: u64) -> u64 {
        let landing_ms = self.flights.peek().map(|Reverse(flight)| flight.ends_ms);
        let is_free = self.flights.len() < self.open as usize;
        let ready_ms = self.machine().next_due_ms().filter(|_| is_free);
        let ready_ms = ready_ms.map(|at_ms| at_ms.saturating_sub(self.origin_ms.0));
        let next_ms = landing_ms.into_iter().chain(ready_ms).min();
        next_ms.unwrap_or(self.shape.lasts_ms).max(now_ms + 1)
    }

    fn offer(&mut self, pages: &[PageId]) -> Result<(), CommandError> {
        let sites = self.sites;
        for batch in pages.chunks(LINKS) {
            let links = batch.iter().map(|page| sites.link(*page));
            self.apply(discover(links)?)?;
        }
        Ok(())
    }

    /// What was fetched by now: links out first, then the reports.
    fn land(&mut self, now_ms: u64) -> Result<(), CommandError> {
        let (mut links, mut items) = (Vec::new(), Vec::new());
        while let Some(Reverse(flight)) = self.flights.peek().copied() {
            if flight.ends_ms > now_ms || items.len() == machine::limits::REPORT_ITEMS {
                break;
            }
            self.flights.pop();
            match flight.target {
                Target::Page(page) => {
                    let priority = self.sites.priority(page);
                    self.contacts.page(page.0, priority, now_ms);
                    links.extend(self.sites.links(page));
                }
                Target::Robots(site) => self.contacts.robots(site),
            }
            items.push(flight.report(now_ms));
        }
        if items.is_empty() {
            return Ok(());
        }
        self.offer(&links)?;
        match self.apply(Body::Report(ReportBatch { items }))? {
            CommandReply::Report(results)
                if results.iter().all(|result| *result == ReportResult::Closed) =>
            {
                Ok(())
            }
            other => Err(CommandError::Message(format!(
                "a report was answered {other:?}"
            ))),
        }
    }

    /// Leases for all free fetches.
    fn launch(&mut self, now_ms: u64) -> Result<(), CommandError> {
        let free = self.open.saturating_sub(self.flights.len() as u32);
        if free == 0 {
            return Ok(());
        }
        self.calls += 1;
        let call = Body::Lease(LeaseCall {
            session: vec![7; 16],
            number: self.calls,
            max_leases: free,
            ttl_ms: TTL_MS,
        });
        let CommandReply::Lease(LeaseReply::Granted { leases, .. }) = self.apply(call)? else {
            return Err(CommandError::Message("a lease call was refused".to_owned()));
        };
        for lease in leases {
            self.begin(&lease, now_ms)?;
        }
        Ok(())
    }

    fn begin(&mut self, lease: &Lease, now_ms: u64) -> Result<(), CommandError> {
        let target = match &lease.work {
            Work::Page(page) => sites::page_of(&page.url).map(Target::Page),
            Work::Robots(robots) => sites::site_of(&robots.origin).map(Target::Robots),
            Work::Errand(_) => None,
        };
        let target = target
            .ok_or_else(|| CommandError::Message(format!("nobody offered {:?}", lease.work)))?;
        let site = target.site();
        let draw = self.sites.draw(site, self.contacts.of(site).contacts());
        let (first_byte_ms, fetch_ms) = self.shape.fetch(draw);
        let way_ms = (first_byte_ms as f64 * share(mix(!draw))) as u64;
        self.contacts.arrive(site, now_ms + way_ms);
        self.flights.push(Reverse(Flight {
            ends_ms: now_ms + fetch_ms,
            token: lease.token,
            responded_ms: now_ms + first_byte_ms,
            began_ms: now_ms,
            target,
            key: lease.key,
        }));
        Ok(())
    }
}
