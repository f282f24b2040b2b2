//! A machine rebuilt from rows at any moment goes on exactly as the one that never stopped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::manual_is_multiple_of
)]

use crate::{
    Body, Command, Entry, Machine, Overlay, ShardId,
    command::{
        discover::{Discover, Errand, ErrandResult, Item, ItemKind},
        lease::{Lease, LeaseCall, LeaseReply, Work},
        lost_store::LostStore,
        release::{Release, ReleaseBatch},
        remove::{CrawlTarget, HostTarget, Remove, Target, UrlTarget},
        report::*,
        set_policy::{CrawlPolicy, HostPolicy, Policy, SetPolicy, ShardPause},
        split::Split,
    },
    entry::CommandReply,
    hash,
    testing::*,
};
use proptest::prelude::*;

/// One random step: a choice and two numbers that its meaning is drawn from.
pub(crate) type Draw = (u8, u64, u64);

pub(crate) struct World {
    pub shard: Shard,
    /// Granted and not ended yet.
    pub leases: Vec<Lease>,
    number: u64,
    cursor: Vec<u8>,
}

impl World {
    pub fn new() -> Self {
        let mut shard = Shard::new();
        shard.crawl(CrawlPolicy {
            crawl: CRAWL,
            revisit: true,
            max_attempts: 3,
            ..CrawlPolicy::default()
        });
        shard.crawl(CrawlPolicy {
            crawl: 2,
            host_budget_pages: 3,
            budget_cycle_ms: DAY_MS,
            min_delay_ms: 2_000,
            ..CrawlPolicy::default()
        });
        Self {
            shard,
            leases: Vec::new(),
            number: 0,
            cursor: Vec::new(),
        }
    }

    fn url(a: u64, b: u64) -> String {
        let scheme = ["http", "https"][(a % 2) as usize];
        format!(
            "{scheme}://h{}.s{}.example/{}",
            a / 2 % 4,
            a / 8 % 3,
            b % 20
        )
    }

    pub fn body(&mut self, (kind, a, b): Draw) -> Option<Body> {
        let crawl = 1 + (a % 2) as u32;
        Some(match kind % 16 {
            0..=4 => Body::Discover(Discover {
                items: (0..4)
                    .map(|n| {
                        item(link(
                            crawl,
                            &Self::url(a.wrapping_mul(n + 1), b ^ n),
                            (b % 300) as u32,
                        ))
                    })
                    .collect(),
            }),
            5..=7 => {
                self.number += 1;
                Body::Lease(LeaseCall {
                    session: vec![(a % 3) as u8; 16],
                    number: self.number,
                    max_leases: (b % 5) as u32,
                    ttl_ms: 5_000 + b % 60_000,
                })
            }
            8..=11 => Body::Report(ReportBatch {
                items: self.reports(a, b),
            }),
            12 => Body::Release(ReleaseBatch {
                items: self
                    .leases
                    .iter()
                    .take(1)
                    .map(|lease| Release {
                        key: Some(lease.key),
                        token: lease.token,
                    })
                    .collect(),
            }),
            13 => Body::SetPolicy(SetPolicy {
                policy: Some(self.policy(a, b)),
            }),
            14 if a % 5 == 0 => Body::LostStore(LostStore {
                store: 1 + (b % 2) as u32,
                sweep: b % 3 != 0,
                cursor: Vec::new(),
            }),
            14 => Body::Remove(self.removal(a, b)),
            _ => Body::Discover(Discover {
                items: vec![Self::errand(a, b)],
            }),
        })
    }

    fn errand(a: u64, b: u64) -> Item {
        let (url, origin) = (
            Self::url(a, b),
            format!("http://h{}.s{}.example", b % 4, b % 3),
        );
        let origin_partition = partition(&origin);
        let kind = if a % 3 == 0 {
            ItemKind::ErrandResult(ErrandResult {
                origin,
                origin_partition,
                attempt: 1 + (b % 3) as u32,
                robots: Some(rules("errand", b % 5_000)),
            })
        } else {
            ItemKind::Errand(Errand {
                partition: partition(&url),
                url,
                fingerprint: fingerprint(0, &origin),
                origin,
                origin_partition,
                hop: 1 + (a % 6) as u32,
                attempt: (b % 4) as u32,
            })
        };
        Item { kind: Some(kind) }
    }

    fn reports(&mut self, a: u64, b: u64) -> Vec<Report> {
        let count = (1 + a % 3).min(self.leases.len() as u64) as usize;
        let contact = [
            answered(b % 3_000),
            unwritten(),
            Contact {
                retry_after_ms: b % 90_000,
                ..answered(5)
            },
            Contact::default(),
        ][(a % 4) as usize];
        self.leases
            .drain(..count)
            .map(|lease| Self::report(&lease, contact, a, b))
            .collect()
    }

    fn report(lease: &Lease, contact: Contact, a: u64, b: u64) -> Report {
        let outcome = match lease.work {
            Work::Page(_) => {
                let code = PageCode::try_from(1 + (b % 10) as i32).unwrap();
                let page = if code == PageCode::Stored {
                    stored((a % 3) as u8)
                } else {
                    crate::testing::outcome(code)
                };
                Outcome::Page(page)
            }
            Work::Robots(_) => {
                let code = [
                    RobotsCode::Rules,
                    RobotsCode::AllowAll,
                    RobotsCode::Unreachable,
                    RobotsCode::NotModified,
                    RobotsCode::Pending,
                    RobotsCode::AllowAll,
                ][(b % 6) as usize];
                let finding = if code == RobotsCode::Rules {
                    rules(["x", "y"][(a % 2) as usize], a % 4_000)
                } else {
                    found(code)
                };
                Outcome::Robots(RobotsOutcome {
                    found: Some(finding),
                    requeue: a % 11 == 0,
                })
            }
            Work::Errand(_) => Outcome::Errand(ErrandOutcome {
                delivered: b % 4 != 0,
                requeue: b % 4 == 0,
                failed: b % 3 == 0,
            }),
        };
        let undelivered = if a % 5 == 0 {
            vec![item(link(1, "http://far.example/", 1))]
        } else {
            Vec::new()
        };
        Report {
            key: Some(lease.key),
            token: lease.token,
            contact: Some(contact),
            outcome: Some(outcome),
            undelivered,
        }
    }

    fn policy(&self, a: u64, b: u64) -> Policy {
        if a % 2 == 0 {
            let host = format!("h{}.s{}.example", b % 4, b % 3);
            let partition = partition(&format!("http://{host}/"));
            return Policy::Host(HostPolicy {
                host,
                partition,
                min_delay_ms: (a % 3) * 1_000,
                block_for_ms: (a % 5) * 1_000,
            });
        }
        if a % 31 == 0 {
            return Policy::ShardPause(ShardPause { paused: b % 3 == 0 });
        }
        Policy::Crawl(CrawlPolicy {
            crawl: 1 + (b % 2) as u32,
            paused: a % 3 == 0,
            revisit: b % 2 == 0,
            min_delay_ms: 1 + a % 4_000,
            host_budget_pages: b % 5,
            budget_cycle_ms: DAY_MS,
            ..CrawlPolicy::default()
        })
    }

    fn removal(&self, a: u64, b: u64) -> Remove {
        let url = Self::url(a, b);
        let partition = partition(&url);
        let host = crate::authority::Authority::of(&url).unwrap().0.into();
        let crawl = 1 + (a % 2) as u32;
        let target = match b % 20 {
            0 => Target::Crawl(CrawlTarget {}),
            1..=6 => Target::Host(HostTarget { partition, host }),
            _ => Target::Url(UrlTarget {
                partition,
                fingerprint: fingerprint(crawl, &url),
                url,
            }),
        };
        Remove {
            crawl,
            target: Some(target),
            forget: a % 3 == 0,
            cursor: if b % 20 == 0 {
                self.cursor.clone()
            } else {
                Vec::new()
            },
        }
    }

    /// Time passes, now and then much of it.
    pub fn pass(&mut self, (kind, a, b): Draw) {
        self.shard.pass(
            [10, 1_000, 30_000, DAY_MS / 3][(hash::mix(a ^ b) % 4) as usize]
                .min(if kind % 8 == 0 { u64::MAX } else { 2_000 }),
        );
        if kind == 200 {
            self.shard.wall_ms -= DAY_MS;
        }
    }

    /// Applies to the machine that goes on and to one rebuilt at this moment; both must say the same and write the same.
    fn step(&mut self, draw: Draw) {
        self.pass(draw);
        let Some(body) = self.body(draw) else { return };
        let entry = Entry {
            now_ms: self.shard.now_ms,
            wall_unix_ms: self.shard.wall_ms,
            commands: vec![Command { body: Some(body) }],
        };
        let mut other = Machine::rebuild(&self.shard.rows, self.shard.m.shard())
            .unwrap()
            .unwrap();
        let mut overlay = Overlay::default();
        let twin = other
            .apply(&self.shard.rows, &entry, &mut overlay)
            .expect("applies");
        let reply = self
            .shard
            .m
            .apply(&self.shard.rows, &entry, &mut self.shard.overlay)
            .expect("applies");
        assert_eq!(twin, reply);
        assert!(overlay.changes().eq(self.shard.overlay.changes()));
        self.shard.rows.commit(&mut self.shard.overlay);
        assert!(self.shard.m.status().terms.hold());
        for reply in reply.replies {
            match reply {
                CommandReply::Lease(LeaseReply::Granted { leases, .. }) => {
                    self.leases.extend(leases)
                }
                CommandReply::Remove(reply) => self.cursor = reply.cursor,
                _ => {}
            }
        }
    }

    /// What is stored agrees with what is counted.
    fn audit(&mut self) {
        self.shard.rebuild();
        let status = self.shard.m.status();
        let rows = &self.shard.rows;
        assert_eq!(status.terms.queued, rows.count(b'Q') as u64);
        assert_eq!(status.terms.scheduled, rows.count(b'V') as u64);
        assert_eq!(status.ready.leased, rows.count(b'L') as u64);
        assert_eq!(status.active_hosts, rows.count(b'H') as u64);
        assert_eq!(status.outbox.waiting, rows.count(b'O') as u64);
        assert_eq!(
            status.outbox.entered,
            status.outbox.waiting + status.outbox.delivered
        );
        let errands: u64 = self
            .shard
            .m
            .hosts
            .from(0)
            .map(|(_, host)| u64::from(host.errands))
            .sum();
        assert_eq!(errands, rows.count(b'E') as u64);
        let rules = self
            .shard
            .m
            .hosts
            .from(0)
            .flat_map(|(_, host)| &host.authorities)
            .filter(|known| matches!(known.robots.good, crate::state::Good::Rules(_)))
            .count();
        assert_eq!(rules, rows.count(b'D'));
        assert!(rows.count(b'B') <= rules);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_rebuilt_machine_goes_on_as_the_old_one(draws in proptest::collection::vec(any::<Draw>(), 1..250)) {
        let mut world = World::new();
        for draw in draws {
            world.step(draw);
        }
        world.audit();
    }
}

impl World {
    /// Splits the machine that goes on and one rebuilt at this moment; both must say and write the same. The child with what is out of it.
    fn split(&mut self, at: u64) -> Self {
        let split = Split {
            child: 2,
            at,
            epoch: self.shard.m.epoch(),
        };
        let entry = Entry {
            now_ms: self.shard.now_ms,
            wall_unix_ms: self.shard.wall_ms,
            commands: vec![Command {
                body: Some(Body::Split(split)),
            }],
        };
        let mut other = Machine::rebuild(&self.shard.rows, self.shard.m.shard())
            .unwrap()
            .unwrap();
        let mut overlay = Overlay::default();
        let twin = other.apply(&self.shard.rows, &entry, &mut overlay);
        let shard = &mut self.shard;
        let reply = shard.m.apply(&shard.rows, &entry, &mut shard.overlay);
        assert_eq!(twin.unwrap(), reply.unwrap());
        assert!(overlay.changes().eq(shard.overlay.changes()));
        shard.rows.commit(&mut shard.overlay);
        let leases = std::mem::take(&mut self.leases);
        let (low, high) = leases
            .into_iter()
            .partition(|lease| lease.key.partition < at);
        self.leases = low;
        Self {
            shard: self.shard.child(),
            leases: high,
            number: self.number,
            cursor: Vec::new(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_rebuilt_machine_splits_and_goes_on_as_the_old_one(
        before in proptest::collection::vec(any::<Draw>(), 1..120),
        site in 0..3u64,
        after in proptest::collection::vec(any::<Draw>(), 1..120),
    ) {
        let mut parent = World::new();
        for draw in before {
            parent.step(draw);
        }
        let mut child = parent.split(partition(&format!("http://s{site}.example/")));
        // Every row is in the store of the one or of the other: what is counted is what is there.
        parent.audit();
        child.audit();
        for draw in after {
            parent.step(draw);
            child.step(draw);
        }
        parent.audit();
        child.audit();
    }
}

// case L8, L5: the same entry at the same rows gives the same changes and reply; apply reads nothing else.
#[test]
fn applying_the_same_entry_to_the_same_rows_gives_the_same() {
    let mut world = World::new();
    for n in 0..400u64 {
        world.step((
            (hash::mix(n) >> 8) as u8,
            hash::mix(n + 1_000),
            hash::mix(n + 2_000),
        ));
    }
    world.audit();
}

#[test]
fn stamps_from_the_past_never_turn_shard_time_back() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let now = shard.m.now_ms();
    shard.now_ms = 5;
    shard.tick();
    assert_eq!(shard.m.now_ms(), now);
}

#[test]
fn a_shard_without_rows_is_not_there() {
    assert!(
        Machine::rebuild(&MemRows::default(), ShardId(9))
            .unwrap()
            .is_none()
    );
}

// Rows that do not decode or contradict each other stop the shard instead of being guessed at.
#[test]
fn broken_rows_stop_the_shard() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let queue = shard
        .rows
        .rows
        .keys()
        .find(|key| key[0] == b'Q')
        .unwrap()
        .clone();
    shard.rows.rows.remove(&queue);
    let call = Body::Lease(LeaseCall {
        session: vec![1; 16],
        number: 9,
        max_leases: 1,
        ttl_ms: 5_000,
    });
    shard.pass(1_000);
    let entry = Entry {
        now_ms: shard.now_ms,
        wall_unix_ms: shard.wall_ms,
        commands: vec![Command { body: Some(call) }],
    };
    assert!(matches!(
        shard.m.apply(&shard.rows, &entry, &mut Overlay::default()),
        Err(crate::MachineError::Invariant(_))
    ));
    let host = shard
        .rows
        .rows
        .keys()
        .find(|key| key[0] == b'H')
        .unwrap()
        .clone();
    shard.rows.put(host, vec![0xff]);
    assert!(matches!(
        Machine::rebuild(&shard.rows, ShardId(1)),
        Err(crate::MachineError::Corrupt { space: "host", .. })
    ));
}

// case B13: a queue whose URLs are all done is legal.
#[test]
fn a_host_with_nothing_left_is_rebuilt() {
    let mut shard = Shard::new();
    shard.add_allowed(&["http://a.example/1"]);
    let (lease, _) = shard.lease_page();
    shard.close(&lease, answered(0), stored(1));
    shard.rebuild();
    assert!(shard.lease(1).is_empty());
    shard.pass(1_000);
    shard.add(&["http://a.example/2"]);
    assert_eq!(shard.lease(1).len(), 1);
}

// case B25: hosts with pending URLs are found again after a restart, whatever their names share.
#[test]
fn pending_hosts_are_ready_after_a_rebuild() {
    let mut shard = Shard::new();
    let urls = [
        "http://foo.example/",
        "http://foo.example.org/",
        "http://foo/",
        "http://foo.example:8080/",
    ];
    shard.add(&urls);
    shard.rebuild();
    assert_eq!(shard.lease(9).len(), 3);
}
