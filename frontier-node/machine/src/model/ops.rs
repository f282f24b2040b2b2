//! Random steps: what they are, how they are drawn, and how they become commands against a run.

use super::{run::Run, world};
use crate::{
    command::{
        deliver::Deliver,
        discover::{Discover, ErrandResult, Item, ItemKind, Link},
        lease::{LeaseCall, LeaseKey, LeaseKind},
        recover::Recover,
        release::{Release, ReleaseBatch},
        remove::{CrawlTarget, HostTarget, Remove, Target, UrlTarget},
        report::{
            Contact, ErrandOutcome, Outcome, PageCode, PageOutcome, Report, ReportBatch,
            RobotsCode, RobotsFound, RobotsOutcome,
        },
        set_policy::{
            CrawlPause, CrawlPolicy, HostChange, HostPolicy, Policy, SetPolicy, ShardPause,
        },
    },
    entry::{Body, Command},
};
use proptest::prelude::*;

/// Which token an end names.
#[derive(Clone, Copy, Debug)]
pub enum Token {
    Right,
    Next,
    Zero,
}

/// Which lease an end is about.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// One that is out.
    Open(usize),
    /// One ever granted, counted from the last.
    Past(usize),
}

/// One command before it knows keys and tokens.
#[derive(Clone, Debug)]
pub enum Op {
    Links(Vec<(u32, usize, u8, u32, u32)>),
    Errand {
        target: usize,
        origin: usize,
        hop: u32,
        attempt: u32,
    },
    ErrandResult {
        origin: usize,
        back: u32,
        code: i32,
    },
    Lease {
        session: u8,
        step: i64,
        most: u32,
        ttl_ms: u64,
    },
    Report {
        which: Which,
        token: Token,
        contact: Option<Contact>,
        page: i32,
        robots: i32,
        flag: bool,
        undelivered: u8,
        digest: u8,
    },
    Release {
        which: Which,
        token: Token,
    },
    Crawl(CrawlPolicy),
    Host {
        origin: usize,
        delay_ms: u64,
        block_ms: u64,
    },
    Change {
        origin: usize,
        delay_ms: Option<u64>,
        block_ms: Option<u64>,
        paused: Option<bool>,
    },
    /// Of crawl 0: of the shard.
    Pause {
        crawl: u32,
        paused: bool,
    },
    Remove {
        crawl: u32,
        target: u8,
        origin: usize,
        page: u8,
        forget: bool,
    },
    Deliver(u8),
    Recover(u64),
    Tick,
}

/// A step: time passes, then commands share an entry.
#[derive(Clone, Debug)]
pub enum Step {
    Entry {
        passes_ms: u64,
        wall_step_ms: i64,
        ops: Vec<Op>,
    },
    Rebuild {
        lock_step: u32,
    },
}

fn contact() -> impl Strategy<Value = Option<Contact>> {
    let ages = prop_oneof![Just(0), 0..3_000u64, Just(86_400_000), Just(u64::MAX)];
    let made = (
        any::<bool>(),
        proptest::option::weighted(0.7, ages.clone()),
        ages,
        prop_oneof![0..500u64, Just(1 << 40)],
        prop_oneof![4 => Just(0), 1 => 1..200_000u64, 1 => Just(u64::MAX)],
    )
        .prop_map(
            |(
                nothing_written,
                since_first_byte_ms,
                since_end_ms,
                response_time_ms,
                retry_after_ms,
            )| Contact {
                nothing_written: nothing_written && since_first_byte_ms.is_none(),
                since_first_byte_ms,
                since_end_ms,
                response_time_ms,
                retry_after_ms,
            },
        );
    proptest::option::weighted(0.95, made)
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![4 => (0..8usize).prop_map(Which::Open), 1 => (0..12usize).prop_map(Which::Past)]
}

fn token() -> impl Strategy<Value = Token> {
    prop_oneof![12 => Just(Token::Right), 1 => Just(Token::Next), 1 => Just(Token::Zero)]
}

fn crawl_policy() -> impl Strategy<Value = CrawlPolicy> {
    let clocks = (
        prop_oneof![Just(0), 1..5_000u64],
        prop_oneof![Just(0), Just(2_000u64)],
        prop_oneof![Just(0u32), Just(1u32), Just(20u32)],
        prop_oneof![3 => Just(0u32), 1 => 1..4u32],
    );
    let limits = (
        prop_oneof![3 => Just(0u64), 1 => 1..4u64],
        prop_oneof![3 => Just(0u64), 1 => 1..6u64],
        prop_oneof![4 => Just(0u64), 1 => Just(1u64)],
    );
    let budget = (
        prop_oneof![2 => Just(0u64), 1 => 1..4u64],
        prop_oneof![Just(0u64), Just(60_000u64)],
    );
    let rest = (
        any::<bool>(),
        prop_oneof![Just(0u64), Just(20_000u64)],
        prop_oneof![6 => Just(false), 1 => Just(true)],
    );
    (1..4u32, clocks, limits, budget, rest).prop_map(|(crawl, clocks, limits, budget, rest)| {
        CrawlPolicy {
            crawl,
            min_delay_ms: clocks.0,
            crawl_delay_cap_ms: clocks.1,
            response_time_factor_tenths: clocks.2,
            max_attempts: clocks.3,
            max_queued_per_host: limits.0,
            max_queued_per_site: limits.1,
            max_hosts_per_site: limits.2,
            host_budget_pages: budget.0,
            budget_cycle_ms: budget.1,
            revisit: rest.0,
            revisit_min_ms: rest.1,
            revisit_max_ms: rest.1 * 4,
            paused: rest.2,
            ..CrawlPolicy::default()
        }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let origin = 0..world::ORIGINS.len();
    // Page number, priority, depth, hops.
    let link = (
        1..4u32,
        0..36usize,
        prop_oneof![Just(0u8), Just(40), Just(200)],
        prop_oneof![8 => Just(0u32), 1 => Just(300)],
        prop_oneof![8 => Just(0u32), 1 => Just(11)],
    );
    let report = (
        which(),
        token(),
        contact(),
        0..12i32,
        0..7i32,
        any::<bool>(),
        prop_oneof![6 => Just(0u8), 1 => 1..3u8],
        0..4u8,
    );
    prop_oneof![
        6 => proptest::collection::vec(link, 1..6).prop_map(Op::Links),
        1 => (origin.clone(), origin.clone(), 0..7u32, 0..4u32).prop_map(|(target, origin, hop, attempt)| Op::Errand { target, origin, hop, attempt }),
        2 => (origin.clone(), 0..2u32, 1..6i32).prop_map(|(origin, back, code)| Op::ErrandResult { origin, back, code }),
        8 => (0..3u8, prop_oneof![8 => Just(1i64), 2 => Just(0), 1 => Just(-1)], prop_oneof![1..4u32, Just(256)], prop_oneof![Just(0u64), 5_000..20_000u64, Just(u64::MAX)])
            .prop_map(|(session, step, most, ttl_ms)| Op::Lease { session, step, most, ttl_ms }),
        12 => report.prop_map(|(which, token, contact, page, robots, flag, undelivered, digest)| Op::Report { which, token, contact, page, robots, flag, undelivered, digest }),
        2 => (which(), token()).prop_map(|(which, token)| Op::Release { which, token }),
        2 => crawl_policy().prop_map(Op::Crawl),
        1 => (origin.clone(), prop_oneof![Just(0u64), Just(4_000)], prop_oneof![2 => Just(0u64), 1 => Just(9_000)]).prop_map(|(origin, delay_ms, block_ms)| Op::Host { origin, delay_ms, block_ms }),
        2 => (1..4u32, 0..8u8, origin.clone(), 0..6u8, any::<bool>()).prop_map(|(crawl, target, origin, page, forget)| Op::Remove { crawl, target, origin, page, forget }),
        1 => (origin, proptest::option::of(Just(3_000u64)), proptest::option::of(prop_oneof![Just(0u64), Just(7_000)]), prop_oneof![Just(None), Just(Some(false)), Just(Some(true))])
            .prop_map(|(origin, delay_ms, block_ms, paused)| Op::Change { origin, delay_ms, block_ms, paused }),
        1 => (0..4u32, prop_oneof![3 => Just(false), 1 => Just(true)]).prop_map(|(crawl, paused)| Op::Pause { crawl, paused }),
        1 => (0..3u8).prop_map(Op::Deliver),
        1 => prop_oneof![1 => Just(0u64), 6 => 1..4u64].prop_map(Op::Recover),
        1 => Just(Op::Tick),
    ]
}

/// One random step.
pub fn step() -> impl Strategy<Value = Step> {
    let passes = prop_oneof![4 => Just(0u64), 6 => 1..1_500u64, 4 => 1_500..30_000u64, 1 => 30_000..700_000u64, 1 => Just(86_400_000u64), 1 => Just(40 * 86_400_000u64)];
    let wall = prop_oneof![8 => Just(0i64), 1 => -100_000..100_000i64, 1 => Just(-50 * 86_400_000i64), 1 => Just(2 * 86_400_000i64)];
    prop_oneof![
        16 => (passes, wall, proptest::collection::vec(op(), 1..4)).prop_map(|(passes_ms, wall_step_ms, ops)| Step::Entry { passes_ms, wall_step_ms, ops }),
        1 => (1..6u32).prop_map(|lock_step| Step::Rebuild { lock_step }),
    ]
}

/// An item like those a fetcher could not deliver.
fn outside(page: u8) -> Item {
    Item {
        kind: Some(ItemKind::Link(world::link(
            1,
            &format!("http://outside.example/{page}"),
            0,
        ))),
    }
}

impl Op {
    /// The command, against what the run knows now.
    pub fn command(&self, run: &Run) -> Command {
        Command {
            body: self.body(run),
        }
    }

    fn body(&self, run: &Run) -> Option<Body> {
        Some(match self {
            Self::Links(links) => Body::Discover(Discover {
                items: links.iter().map(link_item).collect(),
            }),
            Self::Errand {
                target,
                origin,
                hop,
                attempt,
            } => {
                let url = format!("{}/moved/robots.txt", world::ORIGINS[*target].1);
                let errand = world::errand(world::ORIGINS[*origin].1, &url, *hop, *attempt);
                Body::Discover(Discover {
                    items: vec![Item {
                        kind: Some(ItemKind::Errand(errand)),
                    }],
                })
            }
            Self::ErrandResult { origin, back, code } => {
                let (partition, origin) = world::ORIGINS[*origin];
                let known =
                    crate::authority::Authority::of(origin).and_then(|(host, authority)| {
                        run.model
                            .host(partition, host)?
                            .robots
                            .get(&authority)
                            .cloned()
                    });
                let attempt = known
                    .map_or(0, |robots| robots.attempt)
                    .saturating_sub(*back);
                let result = ErrandResult {
                    origin: origin.into(),
                    origin_partition: partition,
                    attempt,
                    robots: Some(found(*code, false, 1)),
                };
                Body::Discover(Discover {
                    items: vec![Item {
                        kind: Some(ItemKind::ErrandResult(result)),
                    }],
                })
            }
            Self::Lease {
                session,
                step,
                most,
                ttl_ms,
            } => {
                let session = vec![*session; 16];
                let newest = run
                    .model
                    .sessions
                    .get(&session)
                    .map_or(0, |session| session.number);
                Body::Lease(LeaseCall {
                    session,
                    number: newest.saturating_add_signed(*step),
                    max_leases: *most,
                    ttl_ms: *ttl_ms,
                })
            }
            Self::Report { which, token, .. } => {
                let (key, token) = pick(run, *which, *token)?;
                Body::Report(ReportBatch {
                    items: vec![self.report(key, token)],
                })
            }
            Self::Release { which, token } => {
                let (key, token) = pick(run, *which, *token)?;
                Body::Release(ReleaseBatch {
                    items: vec![Release {
                        key: Some(key),
                        token,
                    }],
                })
            }
            Self::Crawl(policy) => Body::SetPolicy(SetPolicy {
                policy: Some(Policy::Crawl(*policy)),
            }),
            Self::Host {
                origin,
                delay_ms,
                block_ms,
            } => Body::SetPolicy(SetPolicy {
                policy: Some(Policy::Host(host_policy(*origin, *delay_ms, *block_ms))),
            }),
            Self::Change {
                origin,
                delay_ms,
                block_ms,
                paused,
            } => {
                let HostPolicy {
                    host, partition, ..
                } = host_policy(*origin, 0, 0);
                Body::SetPolicy(SetPolicy {
                    policy: Some(Policy::HostChange(HostChange {
                        host,
                        partition,
                        min_delay_ms: *delay_ms,
                        block_for_ms: *block_ms,
                        paused: *paused,
                    })),
                })
            }
            Self::Pause { crawl, paused } => Body::SetPolicy(SetPolicy {
                policy: Some(match (*crawl, *paused) {
                    (0, paused) => Policy::ShardPause(ShardPause { paused }),
                    (crawl, paused) => Policy::CrawlPause(CrawlPause { crawl, paused }),
                }),
            }),
            Self::Remove {
                crawl,
                target,
                origin,
                page,
                forget,
            } => Body::Remove(Remove {
                crawl: *crawl,
                target: Some(removal(*crawl, *target, *origin, *page)),
                forget: *forget,
                cursor: Vec::new(),
            }),
            Self::Recover(id) => Body::Recover(Recover { id: *id }),
            Self::Deliver(count) => Body::Deliver(Deliver {
                keys: run
                    .outbox_keys()
                    .into_iter()
                    .take(usize::from(*count))
                    .collect(),
            }),
            Self::Tick => return None,
        })
    }

    fn report(&self, key: LeaseKey, token: u64) -> Report {
        let Self::Report {
            contact,
            page,
            robots,
            flag,
            undelivered,
            digest,
            ..
        } = self
        else {
            return Report::default();
        };
        // A lease as it was granted says what kind of outcome fits; a wrong one is tried when the codes agree.
        let kind = if *page == *robots {
            LeaseKind::Errand
        } else {
            key.kind()
        };
        let outcome = match kind {
            LeaseKind::Page => Outcome::Page(page_outcome(*page, *digest)),
            LeaseKind::Robots => Outcome::Robots(RobotsOutcome {
                found: (*robots != 6).then(|| found(*robots, *flag, *digest)),
                requeue: *robots == 6,
            }),
            LeaseKind::Errand => Outcome::Errand(ErrandOutcome {
                delivered: *flag,
                requeue: *page % 3 == 0,
                failed: *page % 3 == 1,
            }),
        };
        Report {
            key: Some(key),
            token,
            contact: *contact,
            outcome: Some(outcome),
            undelivered: (0..*undelivered).map(outside).collect(),
        }
    }
}

fn link_item((crawl, place, priority, depth, redirect_hops): &(u32, usize, u8, u32, u32)) -> Item {
    let url = format!(
        "{}/{}",
        world::ORIGINS[place % world::ORIGINS.len()].1,
        place / world::ORIGINS.len()
    );
    let link = Link {
        depth: *depth,
        redirect_hops: *redirect_hops,
        ..world::link(*crawl, &url, u32::from(*priority))
    };
    Item {
        kind: Some(ItemKind::Link(link)),
    }
}

fn pick(run: &Run, which: Which, token: Token) -> Option<(LeaseKey, u64)> {
    let (key, right) = match which {
        Which::Open(at) => {
            let open = run.open();
            let at = at % open.len().max(1);
            *open.get(at)?
        }
        Which::Past(back) => run.lease_back(back).map(|lease| (lease.key, lease.token))?,
    };
    Some((
        key,
        match token {
            Token::Right => right,
            Token::Next => right + 1,
            Token::Zero => 0,
        },
    ))
}

pub fn page_outcome(code: i32, digest: u8) -> PageOutcome {
    let stored = code == PageCode::Stored as i32;
    PageOutcome {
        code,
        status: 200,
        digest: if stored { vec![digest; 32] } else { Vec::new() },
        etag: if stored {
            format!("\"{digest}\"")
        } else {
            String::new()
        },
        ..PageOutcome::default()
    }
}

pub fn found(code: i32, no_valid_line: bool, digest: u8) -> RobotsFound {
    let rules = code == RobotsCode::Rules as i32;
    RobotsFound {
        code,
        body: if rules { vec![digest; 20] } else { Vec::new() },
        digest: if rules { vec![digest; 32] } else { Vec::new() },
        crawl_delay_ms: if rules { u64::from(digest) * 3_000 } else { 0 },
        no_valid_line: no_valid_line && rules,
        ..RobotsFound::default()
    }
}

fn host_policy(origin: usize, min_delay_ms: u64, block_for_ms: u64) -> HostPolicy {
    // The last origin is not this shard's.
    let (partition, origin) = world::ORIGINS[origin % (world::ORIGINS.len() - 1)];
    let host = crate::authority::Authority::of(origin).map_or("", |(host, _)| host);
    HostPolicy {
        host: host.into(),
        partition,
        min_delay_ms,
        block_for_ms,
    }
}

fn removal(crawl: u32, target: u8, origin: usize, page: u8) -> Target {
    let (partition, origin) = world::ORIGINS[origin];
    match target {
        0 => Target::Crawl(CrawlTarget {}),
        1 | 2 => Target::Host(HostTarget {
            partition,
            host: crate::authority::Authority::of(origin)
                .map_or("", |(host, _)| host)
                .into(),
        }),
        _ => {
            let url = format!("{origin}/{page}");
            Target::Url(UrlTarget {
                partition,
                fingerprint: world::fingerprint(crawl, &url),
                url,
            })
        }
    }
}
