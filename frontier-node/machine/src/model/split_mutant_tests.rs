//! Bugs of a split put back, each of which must be caught; the story without one passes.
//!
//! | bug | what it would do in the field |
//! |---|---|
//! | the child counts tokens anew | an old holder's report closes the new holder's lease |
//! | the child's host forgets its last contact | it is contacted again at once |
//! | a lease is not inherited | the host is contacted while the first request runs, and the URL is in no place |
//! | a session is inherited | a call is answered with what another shard granted |
//! | the parent keeps its range | two shards accept the same URL |
//! | an outbox row is counted by neither | links that nobody delivers |

use super::{
    ops,
    run::{Replica, Run, SHARD},
    state::Judged,
    world,
};
use crate::{
    Machine, ShardId,
    command::{
        discover::{Discover, Item, ItemKind},
        lease::{Lease, LeaseCall},
        report::{Contact, Outcome, Report, ReportBatch, RobotsOutcome},
        set_policy::{CrawlPolicy, Policy, SetPolicy},
        split::Split,
    },
    entry::{Body, Command},
    keys::{self, host::HostRow, meta::MetaRow, session::SessionRow},
};
use prost::Message;

const CHILD: ShardId = ShardId(8);
const HOST: (u64, &str) = (0x20, "two.example");

fn edit<M: Message + Default>(replica: &mut Replica, key: Vec<u8>, act: impl FnOnce(&mut M)) {
    let mut row = M::decode(replica.store.rows[&key].as_slice()).unwrap();
    act(&mut row);
    replica.store.rows.insert(key, row.encode_to_vec());
}

/// A host above the point with a page leased and a link that could not be delivered, one below; then the split.
fn story(mut run: Run) -> Judged<Run> {
    let mut act = |now_ms: u64, body: Body| -> Judged<Vec<Lease>> {
        let granted = run.granted.len();
        let commands = vec![Command { body: Some(body) }];
        run.step(now_ms, 1_700_000_000_000 + now_ms, commands)?;
        Ok(run.granted[granted..].to_vec())
    };
    let crawl = CrawlPolicy {
        crawl: 1,
        ..CrawlPolicy::default()
    };
    act(
        0,
        Body::SetPolicy(SetPolicy {
            policy: Some(Policy::Crawl(crawl)),
        }),
    )?;
    let link = |url: &str| Item {
        kind: Some(ItemKind::Link(world::link(1, url, 0))),
    };
    let items = vec![link("http://two.example/1"), link("http://b.one.example/1")];
    act(0, Body::Discover(Discover { items }))?;
    let lease = |number| {
        Body::Lease(LeaseCall {
            session: vec![1; 16],
            number,
            max_leases: 4,
            ttl_ms: 60_000,
        })
    };
    for robots in act(0, lease(1))? {
        let outcome = Outcome::Robots(RobotsOutcome {
            found: Some(ops::found(2, false, 0)),
            requeue: false,
        });
        let item = Report {
            key: Some(robots.key),
            token: robots.token,
            contact: Some(Contact {
                since_first_byte_ms: Some(10),
                ..Contact::default()
            }),
            outcome: Some(outcome),
            undelivered: vec![link("http://outside.example/")],
        };
        act(100, Body::Report(ReportBatch { items: vec![item] }))?;
    }
    act(2_000, lease(2))?;
    let split = Split {
        child: CHILD.0,
        at: HOST.0,
        epoch: 0,
    };
    act(2_500, Body::Split(split))?;
    Ok(run)
}

/// Plays the story; the bug changes rows after the split, and the machines are what the rows then say.
fn caught(mut bug: impl FnMut(&mut Replica) + 'static) -> String {
    let run = Run::with_bug(Box::new(move |entry, _, replica| {
        if entry.now_ms == 2_500 {
            bug(replica);
            let rebuilt = |shard| Machine::rebuild(&replica.store, shard).unwrap().unwrap();
            let (mut parent, child) = (rebuilt(SHARD), rebuilt(CHILD));
            parent.children = vec![child];
            replica.machine = parent;
        }
    }));
    match story(run.unwrap()) {
        Ok(_) => panic!("the bug was not caught"),
        Err(error) => error,
    }
}

#[test]
fn the_story_without_a_bug_passes() {
    let mut run = story(Run::new().unwrap()).unwrap();
    let child = run.take_children().pop().unwrap();
    let status = child.replica.machine.status();
    assert_eq!((status.terms.leased, status.outbox.waiting), (1, 1));
}

#[test]
fn tokens_counted_anew_are_caught() {
    let error = caught(|replica| {
        edit::<MetaRow>(replica, keys::meta::key(CHILD), |row| row.token = 0);
    });
    assert!(error.contains("I5") || error.contains("I19"), "{error}");
}

#[test]
fn a_forgotten_contact_is_caught() {
    let error = caught(|replica| {
        edit::<HostRow>(replica, keys::host::key(HOST.0, HOST.1), |row| {
            row.last_contact_ms = None;
        });
    });
    assert!(error.contains("I20"), "{error}");
}

#[test]
fn a_lease_left_behind_is_caught() {
    let error = caught(|replica| {
        let of_child = |key: &Vec<u8>| key[0] == keys::lease::TAG && key[8] == 0x20;
        let key = replica.store.rows.keys().find(|key| of_child(key)).cloned();
        replica.store.rows.remove(&key.unwrap());
    });
    assert!(error.contains("I1") || error.contains("I2"), "{error}");
}

#[test]
fn an_inherited_session_is_caught() {
    let error = caught(|replica| {
        let row = SessionRow {
            number: 2,
            expires_ms: 2_500,
            grants: Vec::new(),
        };
        let key = keys::session::key(CHILD, &[1; 16]);
        replica.store.rows.insert(key, row.encode_to_vec());
    });
    assert!(error.contains("sessions"), "{error}");
}

#[test]
fn a_range_that_is_kept_is_caught() {
    let error = caught(|replica| {
        edit::<MetaRow>(replica, keys::meta::key(SHARD), |row| row.last = 0xfff);
    });
    // Without a smaller range it is no split, and totals may not fall.
    assert!(error.contains("I19"), "{error}");
}

#[test]
fn an_outbox_row_counted_by_neither_is_caught() {
    let error = caught(|replica| {
        edit::<MetaRow>(replica, keys::meta::key(CHILD), |row| {
            (row.outbox_in, row.outbox_waiting) = (0, 0);
        });
    });
    assert!(error.contains("I12"), "{error}");
}
