//! No step's cost grows with the shard: the same commands read as many rows at 100 000 hosts as at 1 000.

use super::{
    run::{Replica, SHARD},
    world,
};
use crate::{
    command::{
        discover::{Discover, Item, ItemKind},
        lease::{LeaseCall, LeaseReply},
        release::{Release, ReleaseBatch},
        remove::{Remove, Target, UrlTarget},
        report::{Contact, Outcome, Report, ReportBatch, RobotsOutcome},
        set_policy::{CrawlPolicy, Policy, SetPolicy},
    },
    entry::{Body, Command, CommandReply, Entry},
};
use std::collections::BTreeMap;

const WALL_UNIX_MS: u64 = 1_700_000_000_000;
/// Rows that a command may read more in the larger shard: a scan that ends at a neighbour's row instead of at the space's end.
const SLACK_ROWS: u64 = 2;

/// A shard of many hosts with two URLs each, and what each command read.
struct Measured {
    replica: Replica,
    now_ms: u64,
    reads: BTreeMap<&'static str, u64>,
}

impl Measured {
    fn new(hosts: usize) -> Self {
        let mut measured = Self {
            replica: Replica::new(),
            now_ms: 1_000,
            reads: BTreeMap::new(),
        };
        measured.apply("", Some(policy(false)));
        let urls: Vec<_> = (0..hosts)
            .flat_map(|host| [url(host, 0), url(host, 1)])
            .collect();
        for urls in urls.chunks(1_000) {
            measured.apply("", Some(discover(urls)));
        }
        measured
    }

    /// Applies one command and remembers the most rows it read under that name.
    fn apply(&mut self, name: &'static str, body: Option<Body>) -> Option<CommandReply> {
        let commands = body
            .map(|body| Command { body: Some(body) })
            .into_iter()
            .collect();
        self.replica.store.reads.set(0);
        let (reply, _) = self
            .replica
            .apply(&Entry {
                now_ms: self.now_ms,
                wall_unix_ms: WALL_UNIX_MS + self.now_ms,
                commands,
            })
            .unwrap();
        let most = self.reads.entry(name).or_default();
        *most = (*most).max(self.replica.store.reads.get());
        reply.replies.into_iter().next()
    }

    fn lease(
        &mut self,
        name: &'static str,
        number: u64,
        most: u32,
    ) -> Vec<crate::command::lease::Lease> {
        let call = LeaseCall {
            session: vec![1; 16],
            number,
            max_leases: most,
            ttl_ms: 60_000,
        };
        match self.apply(name, Some(Body::Lease(call))) {
            Some(CommandReply::Lease(LeaseReply::Granted { leases, .. })) => leases,
            other => panic!("{other:?}"),
        }
    }
}

fn url(host: usize, page: usize) -> String {
    format!("http://h{host}.example/{page}")
}

fn discover(urls: &[String]) -> Body {
    let item = |url: &String| Item {
        kind: Some(ItemKind::Link(world::link(1, url, 100))),
    };
    Body::Discover(Discover {
        items: urls.iter().map(item).collect(),
    })
}

fn policy(paused: bool) -> Body {
    Body::SetPolicy(SetPolicy {
        policy: Some(Policy::Crawl(CrawlPolicy {
            crawl: 1,
            paused,
            ..CrawlPolicy::default()
        })),
    })
}

/// Every kind of command in a shard of that size, with the rows each read.
fn measure(hosts: usize) -> BTreeMap<&'static str, u64> {
    let mut measured = Measured::new(hosts);
    measured.apply("discover new", Some(discover(&[url(1, 7)])));
    measured.apply("discover known", Some(discover(&[url(1, 7)])));
    measured.apply("discover new host", Some(discover(&[url(1_000_000, 0)])));
    let robots = measured.lease("lease robots", 1, 64);
    assert_eq!(robots.len(), 64);
    measured.lease("lease repeated", 1, 64);
    let contact = Some(Contact {
        since_first_byte_ms: Some(0),
        ..Contact::default()
    });
    for lease in &robots {
        let outcome = Outcome::Robots(RobotsOutcome {
            found: Some(super::ops::found(1, false, 1)),
            requeue: false,
        });
        let item = Report {
            key: Some(lease.key),
            token: lease.token,
            contact,
            outcome: Some(outcome),
            undelivered: Vec::new(),
        };
        measured.apply(
            "report robots",
            Some(Body::Report(ReportBatch { items: vec![item] })),
        );
    }
    // The crawl delay is past: the oldest ready are the hosts never asked, now and then one of these.
    measured.now_ms += 10_000;
    let mut pages = Vec::new();
    for number in 2..200 {
        pages.extend(measured.lease("lease any", number, 1));
    }
    measured.apply("pause", Some(policy(true)));
    assert!(measured.lease("lease nothing", 200, 1).is_empty());
    measured.apply("unpause", Some(policy(false)));
    for (at, lease) in pages.iter().enumerate().take(64) {
        let release = Release {
            key: Some(lease.key),
            token: lease.token,
        };
        if at % 2 == 0 {
            measured.apply(
                "release",
                Some(Body::Release(ReleaseBatch {
                    items: vec![release],
                })),
            );
        }
    }
    let target = UrlTarget {
        partition: world::partition(&url(900, 1)),
        fingerprint: world::fingerprint(1, &url(900, 1)),
        url: url(900, 1),
    };
    measured.apply(
        "remove",
        Some(Body::Remove(Remove {
            crawl: 1,
            target: Some(Target::Url(target)),
            forget: false,
            cursor: Vec::new(),
        })),
    );
    measured.apply("tick", None);
    measured.now_ms += 700_000;
    measured.apply("tick that expires", None);
    measured.reads.remove("");
    measured.reads
}

#[test]
fn reads_do_not_grow_with_the_shard() {
    let (small, large) = (measure(1_000), measure(100_000));
    assert!(small.len() >= 12, "{small:?}");
    for (name, reads) in &large {
        let before = small[name];
        assert!(
            *reads <= before + SLACK_ROWS,
            "{name} read {before} rows at 1 000 hosts, {reads} at 100 000"
        );
    }
}

#[test]
fn a_rebuild_reads_hosts_not_urls() {
    let replica = Measured::new(1_000).replica;
    replica.store.reads.set(0);
    assert!(
        crate::Machine::rebuild(&replica.store, SHARD)
            .unwrap()
            .is_some()
    );
    let (hosts, reads) = (1_000, replica.store.reads.get());
    // Two queue rows and two seen rows a host are not among them.
    assert!(reads < hosts + hosts / 10, "{reads} rows read");
}
