//! The harness put to the test: each bug is put back by changing what an entry answered or left in the rows (the machine is then
//! rebuilt from those rows, as if it had done so itself), and must be caught. The same story without a bug passes.
//!
//! | bug | what it would do in the field |
//! |---|---|
//! | expiry takes now for the deadline | a host waits longer than its clock says, and replicas that expire in another entry differ |
//! | expiry takes the grant for the deadline | the host is contacted while a slow request of the dead fetcher still arrives |
//! | nothing written moves the clock | hosts of a fetcher that cannot connect are never asked |
//! | a report forgets the contact | the host is contacted again at once |
//! | the token counter starts again | an old holder's report closes the new holder's lease (case B7) |
//! | a repeated lease gets a fresh deadline | two fetchers disagree on when the lease ends |
//! | a late report is taken | a page is counted twice (case B8) |
//! | removal frees the host | a second contact while the first is running |
//! | a rebuilt machine forgets a back-off | a restart contacts a host that asked for time |
//! | a URL is enqueued twice | it is fetched twice in one visit |
//! | `seen` loses a row | the same |
//! | an outbox row is dropped | links are lost |
//! | a ready host is withheld | a stalled crawl |
//! | the delay is halved | hosts are contacted early |

use super::{
    ops,
    run::{Corrupt, Replica, Run, SHARD},
    state::Judged,
    world,
};
use crate::{
    Machine,
    command::{
        discover::{Discover, Item, ItemKind},
        lease::{LeaseCall, LeaseReply},
        remove::{Remove, Target, UrlTarget},
        report::{Contact, Outcome, Report, ReportBatch, ReportResult, RobotsOutcome},
        set_policy::{CrawlPolicy, Policy, SetPolicy},
    },
    entry::{Body, Command, CommandReply, Entry, Reply},
    keys::{self, host::HostRow, meta::MetaRow},
};
use prost::Message;

const HOST: (u64, &str) = (0x20, "two.example");
const URL: &str = "http://two.example/1";

/// Changes a row, and has the machine start again from the rows.
fn edit<M: Message + Default>(replica: &mut Replica, key: Vec<u8>, act: impl FnOnce(&mut M)) {
    let Some(value) = replica.store.rows.get(&key) else {
        return;
    };
    let mut row = M::decode(value.as_slice()).unwrap();
    act(&mut row);
    replica.store.rows.insert(key, row.encode_to_vec());
    restart(replica);
}

/// A machine that says what the rows say; rows so broken that there is none leave the old one.
fn restart(replica: &mut Replica) {
    if let Ok(Some(machine)) = Machine::rebuild(&replica.store, SHARD) {
        replica.machine = machine;
    }
}

fn edit_host(replica: &mut Replica, act: impl FnOnce(&mut HostRow)) {
    edit(replica, keys::host::key(HOST.0, HOST.1), act);
}

fn body(entry: &Entry) -> Option<&Body> {
    entry
        .commands
        .first()
        .and_then(|command| command.body.as_ref())
}

fn contact(age_ms: Option<u64>) -> Option<Contact> {
    Some(Contact {
        nothing_written: age_ms.is_none(),
        since_first_byte_ms: age_ms,
        ..Contact::default()
    })
}

/// A story that touches what the bugs are about: two hosts, robots, pages, an expiry, a late report, a repeat, a busy answer
/// with links that could not be delivered, a removal of a leased URL.
fn story(mut run: Run) -> Judged {
    let wall = |now_ms: u64| 1_700_000_000_000 + now_ms;
    let mut act = |now_ms: u64, body: Option<Body>| -> Judged<Vec<CommandReply>> {
        let commands = body
            .map(|body| Command { body: Some(body) })
            .into_iter()
            .collect();
        run.step(now_ms, wall(now_ms), commands)
    };
    let lease = |number| {
        Some(Body::Lease(LeaseCall {
            session: vec![1; 16],
            number,
            max_leases: 4,
            ttl_ms: 5_000,
        }))
    };
    let mut granted = Vec::new();
    let mut take = |replies: Vec<CommandReply>| {
        for reply in replies {
            if let CommandReply::Lease(LeaseReply::Granted {
                leases,
                repeated: false,
                ..
            }) = reply
            {
                granted.extend(leases);
            }
        }
        granted.clone()
    };
    let report = |lease: &crate::command::lease::Lease, outcome, contact, links: u8| {
        let link = |at| Item {
            kind: Some(ItemKind::Link(world::link(
                1,
                &format!("http://outside.example/{at}"),
                0,
            ))),
        };
        let item = Report {
            key: Some(lease.key),
            token: lease.token,
            contact,
            outcome: Some(outcome),
            undelivered: (0..links).map(link).collect(),
        };
        Some(Body::Report(ReportBatch { items: vec![item] }))
    };
    let page = |code| Outcome::Page(ops::page_outcome(code, 1));
    let allow = || {
        Outcome::Robots(RobotsOutcome {
            found: Some(ops::found(2, false, 0)),
            requeue: false,
        })
    };

    act(
        0,
        Some(Body::SetPolicy(SetPolicy {
            policy: Some(Policy::Crawl(CrawlPolicy {
                crawl: 1,
                ..CrawlPolicy::default()
            })),
        })),
    )?;
    let link = |url: &str| Item {
        kind: Some(ItemKind::Link(world::link(1, url, 0))),
    };
    let items = vec![
        link(URL),
        link("http://two.example/2"),
        link("http://b.one.example/1"),
    ];
    act(0, Some(Body::Discover(Discover { items })))?;
    let all = take(act(0, lease(1))?);
    for robots in &all {
        act(100, report(robots, allow(), contact(Some(50)), 0))?;
    }
    let all = take(act(1_100, lease(2))?);
    let (expiring, other): (Vec<_>, Vec<_>) = all[2..]
        .iter()
        .partition(|lease| lease.key.partition == HOST.0);
    act(1_200, report(other[0], page(6), contact(None), 0))?;
    act(2_000, lease(2))?;
    // Expired 900 ms ago by the time anybody looks.
    act(7_000, None)?;
    act(7_000, report(expiring[0], page(1), contact(Some(0)), 0))?;
    let before = all.len();
    let all = take(act(20_000, lease(3))?);
    let held = all[before..]
        .iter()
        .find(|lease| lease.key.partition == HOST.0)
        .ok_or("a ready host was not leased")?;
    act(20_100, report(held, page(5), contact(Some(10)), 2))?;
    let before = all.len();
    let all = take(act(60_000, lease(4))?);
    let held = all[before..]
        .iter()
        .find(|lease| lease.key.partition == HOST.0)
        .ok_or("a ready host was not leased")?;
    let target = UrlTarget {
        partition: held.key.partition,
        fingerprint: held.key.fingerprint,
        url: URL.into(),
    };
    act(
        60_100,
        Some(Body::Remove(Remove {
            crawl: 1,
            target: Some(Target::Url(target)),
            forget: false,
            cursor: Vec::new(),
        })),
    )?;
    act(60_200, report(held, page(1), contact(Some(10)), 0))?;
    take(act(70_000, lease(5))?);
    Ok(())
}

/// Plays the story with a bug; what caught it.
fn caught(corrupt: impl FnMut(&Entry, &mut Reply, &mut Replica) + 'static) -> String {
    let corrupt: Corrupt = Box::new(corrupt);
    story(Run::with_bug(corrupt).unwrap()).expect_err("the bug was not caught")
}

#[test]
fn the_story_without_a_bug_passes() {
    story(Run::new().unwrap()).unwrap();
}

#[test]
fn expiry_at_now_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 7_000 && entry.commands.is_empty() {
            edit_host(replica, |row| row.last_contact_ms = Some(7_000));
        }
    });
    assert!(error.contains("last contact"), "{error}");
}

#[test]
fn expiry_at_the_grant_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 7_000 && entry.commands.is_empty() {
            edit_host(replica, |row| row.last_contact_ms = Some(1_100));
        }
    });
    assert!(error.contains("last contact"), "{error}");
}

#[test]
fn nothing_written_that_moves_the_clock_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 1_200 {
            edit::<HostRow>(replica, keys::host::key(0x10, "b.one.example"), |row| {
                row.last_contact_ms = Some(1_200)
            });
        }
    });
    assert!(error.contains("last contact"), "{error}");
}

#[test]
fn a_forgotten_contact_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 20_100 {
            edit_host(replica, |row| row.last_contact_ms = None);
        }
    });
    assert!(
        error.contains("I20") || error.contains("last contact"),
        "{error}"
    );
}

#[test]
fn a_token_counter_that_starts_again_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 2_000 {
            edit::<MetaRow>(replica, keys::meta::key(SHARD), |row| row.token = 0);
        }
    });
    assert!(error.contains("I5") || error.contains("I19"), "{error}");
}

#[test]
fn a_repeated_lease_with_a_fresh_deadline_is_caught() {
    let error = caught(|entry, reply, _| {
        if entry.now_ms == 2_000
            && let Some(CommandReply::Lease(LeaseReply::Granted { leases, .. })) =
                reply.replies.first_mut()
        {
            leases
                .iter_mut()
                .for_each(|lease| lease.deadline_ms = 7_000);
        }
    });
    assert!(error.contains("repeated"), "{error}");
}

#[test]
fn a_lease_prolonged_in_its_row_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 2_000 {
            let key = replica
                .store
                .rows
                .keys()
                .find(|key| key.first() == Some(&keys::lease::TAG))
                .cloned()
                .unwrap();
            edit::<keys::lease::LeaseRow>(replica, key, |row| row.deadline_ms += 900);
        }
    });
    assert!(error.contains("I21"), "{error}");
}

#[test]
fn a_late_report_that_is_taken_is_caught() {
    let error = caught(|entry, reply, _| {
        if entry.now_ms == 7_000
            && let Some(CommandReply::Report(results)) = reply.replies.first_mut()
        {
            results.fill(ReportResult::Closed);
        }
    });
    assert!(error.contains("expired"), "{error}");
}

#[test]
fn a_removal_that_frees_the_host_is_caught() {
    let error = caught(|entry, _, replica| {
        if matches!(body(entry), Some(Body::Remove(_))) {
            replica
                .store
                .rows
                .retain(|key, _| key.first() != Some(&keys::lease::TAG));
            edit::<MetaRow>(replica, keys::meta::key(SHARD), |row| {
                row.removed += row.leased;
                row.leased = 0;
            });
        }
    });
    assert!(error.contains("I2 ") || error.contains("I17"), "{error}");
}

#[test]
fn a_rebuilt_machine_without_a_back_off_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 20_100 {
            let kept = replica.store.clone();
            edit_host(replica, |row| row.back_off_until_ms = 0);
            replica.store = kept;
        }
    });
    assert!(error.contains("I18"), "{error}");
}

#[test]
fn a_url_in_two_places_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 1_200 {
            let (key, value) = replica
                .store
                .rows
                .iter()
                .find(|(key, _)| key.first() == Some(&keys::queue::TAG))
                .map(|(key, value)| (key.clone(), value.clone()))
                .unwrap();
            let mut twice = key;
            let priority = twice.len() - 17;
            twice[priority] = 9;
            replica.store.rows.insert(twice, value);
            restart(replica);
        }
    });
    assert!(error.contains("I1 ") || error.contains("I2 "), "{error}");
}

#[test]
fn a_lost_seen_row_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 1_200 {
            replica
                .store
                .rows
                .retain(|key, _| key.first() != Some(&keys::seen::TAG));
        }
    });
    assert!(error.contains("I8"), "{error}");
}

#[test]
fn a_lost_outbox_row_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 20_100 {
            let key = replica
                .store
                .rows
                .keys()
                .find(|key| key.first() == Some(&keys::outbox::TAG))
                .cloned()
                .unwrap();
            replica.store.rows.remove(&key);
        }
    });
    assert!(error.contains("I12"), "{error}");
}

#[test]
fn a_host_that_is_withheld_is_caught() {
    let error = caught(|entry, _, replica| {
        if entry.now_ms == 2_000 {
            edit_host(replica, |row| row.back_off_until_ms = 50_000);
        }
    });
    assert!(error.contains("back-off"), "{error}");
}

#[test]
fn a_shorter_delay_is_caught() {
    let error = caught(|entry, reply, _| {
        if entry.now_ms == 1_100
            && let Some(CommandReply::Lease(LeaseReply::Granted { leases, .. })) =
                reply.replies.first_mut()
        {
            leases.iter_mut().for_each(|lease| {
                if let crate::command::lease::Work::Page(work) = &mut lease.work {
                    work.delay_ms /= 2;
                }
            });
        }
    });
    assert!(error.contains("page"), "{error}");
}

#[test]
fn an_early_grant_is_caught() {
    // The clock of the host is set back by what its report said.
    let mut run = Run::with_bug(Box::new(|entry, _, replica| {
        if entry.now_ms == 100 {
            edit_host(replica, |row| {
                row.last_contact_ms = row.last_contact_ms.map(|_| 0)
            });
        }
    }))
    .unwrap();
    let crawl = Body::SetPolicy(SetPolicy {
        policy: Some(Policy::Crawl(CrawlPolicy {
            crawl: 1,
            ..CrawlPolicy::default()
        })),
    });
    let links = Body::Discover(Discover {
        items: vec![Item {
            kind: Some(ItemKind::Link(world::link(1, URL, 0))),
        }],
    });
    let lease = Body::Lease(LeaseCall {
        session: vec![1; 16],
        number: 1,
        max_leases: 1,
        ttl_ms: 5_000,
    });
    for body in [crawl, links, lease] {
        run.step(0, 1, vec![Command { body: Some(body) }]).unwrap();
    }
    let robots = run.granted[0].clone();
    let outcome = Outcome::Robots(RobotsOutcome {
        found: Some(ops::found(2, false, 0)),
        requeue: false,
    });
    let item = Report {
        key: Some(robots.key),
        token: robots.token,
        contact: contact(Some(10)),
        outcome: Some(outcome),
        undelivered: Vec::new(),
    };
    let error = run
        .step(
            100,
            1,
            vec![Command {
                body: Some(Body::Report(ReportBatch { items: vec![item] })),
            }],
        )
        .expect_err("not caught");
    assert!(error.contains("last contact"), "{error}");
}
