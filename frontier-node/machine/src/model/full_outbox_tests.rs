//! A full outbox, which is too large to fill in a script: the page goes back to the queue with back-off, nothing of its outcome is
//! taken, and once there is room the next report closes it.

use super::{
    ops,
    run::{Replica, SHARD},
    world,
};
use crate::{
    Machine,
    command::{
        discover::{Discover, Item, ItemKind},
        lease::{Lease, LeaseCall, LeaseReply},
        report::{Contact, Outcome, Report, ReportBatch, ReportResult, RobotsOutcome},
        set_policy::{CrawlPolicy, Policy, SetPolicy},
    },
    entry::{Body, Command, CommandReply, Entry},
    keys::{self, meta::MetaRow},
    limits,
};
use prost::Message;

const URL: &str = "http://two.example/1";

fn apply(replica: &mut Replica, now_ms: u64, body: Body) -> CommandReply {
    let commands = vec![Command { body: Some(body) }];
    let (mut reply, _) = replica
        .apply(&Entry {
            now_ms,
            wall_unix_ms: 1_700_000_000_000 + now_ms,
            commands,
        })
        .unwrap();
    reply.replies.remove(0)
}

fn lease(replica: &mut Replica, now_ms: u64, number: u64) -> Vec<Lease> {
    let call = LeaseCall {
        session: vec![1; 16],
        number,
        max_leases: 1,
        ttl_ms: 60_000,
    };
    match apply(replica, now_ms, Body::Lease(call)) {
        CommandReply::Lease(LeaseReply::Granted { leases, .. }) => leases,
        other => panic!("{other:?}"),
    }
}

fn report(
    replica: &mut Replica,
    now_ms: u64,
    lease: &Lease,
    outcome: Outcome,
    links: usize,
) -> ReportResult {
    let link = |at| Item {
        kind: Some(ItemKind::Link(world::link(
            1,
            &format!("http://outside.example/{at}"),
            0,
        ))),
    };
    let contact = Some(Contact {
        since_first_byte_ms: Some(0),
        ..Contact::default()
    });
    let item = Report {
        key: Some(lease.key),
        token: lease.token,
        contact,
        outcome: Some(outcome),
        undelivered: (0..links).map(link).collect(),
    };
    match apply(
        replica,
        now_ms,
        Body::Report(ReportBatch { items: vec![item] }),
    ) {
        CommandReply::Report(mut results) => results.remove(0),
        other => panic!("{other:?}"),
    }
}

/// Sets how many rows the outbox says it holds.
fn fill(replica: &mut Replica, waiting: u64) {
    let key = keys::meta::key(SHARD);
    let mut meta = MetaRow::decode(replica.store.rows[&key].as_slice()).unwrap();
    (meta.outbox_waiting, meta.outbox_in) = (waiting, meta.outbox_delivered + waiting);
    replica.store.rows.insert(key, meta.encode_to_vec());
    replica.machine = Machine::rebuild(&replica.store, SHARD).unwrap().unwrap();
}

#[test]
fn a_full_outbox_requeues_the_page() {
    let mut replica = Replica::new();
    let policy = Policy::Crawl(CrawlPolicy {
        crawl: 1,
        ..CrawlPolicy::default()
    });
    apply(
        &mut replica,
        0,
        Body::SetPolicy(SetPolicy {
            policy: Some(policy),
        }),
    );
    let link = Item {
        kind: Some(ItemKind::Link(world::link(1, URL, 0))),
    };
    apply(
        &mut replica,
        0,
        Body::Discover(Discover { items: vec![link] }),
    );
    let robots = lease(&mut replica, 0, 1);
    let allow = Outcome::Robots(RobotsOutcome {
        found: Some(ops::found(2, false, 0)),
        requeue: false,
    });
    assert_eq!(
        report(&mut replica, 0, &robots[0], allow, 0),
        ReportResult::Closed
    );
    let page = lease(&mut replica, 1_000, 2);
    let stored = || Outcome::Page(ops::page_outcome(1, 1));

    fill(&mut replica, limits::OUTBOX_ROWS - 1);
    assert_eq!(
        report(&mut replica, 1_100, &page[0], stored(), 2),
        ReportResult::Requeued
    );
    // The repeat is answered as before, and nothing went in.
    assert_eq!(
        report(&mut replica, 1_100, &page[0], stored(), 2),
        ReportResult::Requeued
    );
    let status = replica.machine.status();
    assert_eq!(
        (
            status.terms.queued,
            status.terms.done,
            status.outbox.waiting
        ),
        (1, 0, limits::OUTBOX_ROWS - 1)
    );
    // Backing off, although the delay is past.
    assert!(lease(&mut replica, 2_200, 3).is_empty());
    let again = lease(&mut replica, 30_000, 4);
    assert_eq!(again.len(), 1);
    // One fits.
    assert_eq!(
        report(&mut replica, 30_100, &again[0], stored(), 1),
        ReportResult::Closed
    );
    let status = replica.machine.status();
    assert_eq!(
        (
            status.terms.queued,
            status.terms.done,
            status.outbox.waiting
        ),
        (0, 1, limits::OUTBOX_ROWS)
    );
}
