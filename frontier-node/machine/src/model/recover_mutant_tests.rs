//! Bugs of a recovery put back on purpose, as `mutant_tests` does for the rest.
//!
//! | bug | what it would do in the field |
//! |---|---|
//! | a restart forgets the recovery | hosts are contacted beside leases that are lost |
//! | the shortest lease is waited for | the same, for fetchers with long leases |
//! | tokens go on where they were | a lost lease's holder closes the new one's |

use super::{
    run::{Corrupt, Replica, Run, SHARD},
    state::Judged,
    world,
};
use crate::{
    Machine,
    command::{
        discover::{Discover, Item, ItemKind},
        lease::LeaseCall,
        recover::Recover,
        set_policy::{CrawlPolicy, Policy, SetPolicy},
    },
    entry::{Body, Command, Entry, Reply},
    keys::{self, meta::MetaRow},
};
use prost::Message;

/// A host is known, a recovery comes, another host is heard of, and both are leased when they may be.
fn story(mut run: Run) -> Judged {
    let mut act = |now_ms: u64, body: Body| {
        let command = Command { body: Some(body) };
        run.step(now_ms, 1_700_000_000_000 + now_ms, vec![command])
    };
    let crawl = CrawlPolicy {
        crawl: 1,
        ..CrawlPolicy::default()
    };
    let offer = |url: &str| {
        Body::Discover(Discover {
            items: vec![Item {
                kind: Some(ItemKind::Link(world::link(1, url, 0))),
            }],
        })
    };
    let lease = |number| {
        Body::Lease(LeaseCall {
            session: vec![1; 16],
            number,
            max_leases: 4,
            ttl_ms: 5_000,
        })
    };
    let policy = SetPolicy {
        policy: Some(Policy::Crawl(crawl)),
    };
    act(1_000, Body::SetPolicy(policy))?;
    act(1_000, offer("http://two.example/1"))?;
    act(1_500, Body::Recover(Recover { id: 5 }))?;
    act(2_000, offer("http://a.one.example/1"))?;
    act(8_000, lease(1))?;
    act(602_499, lease(2))?;
    act(602_500, lease(3))?;
    Ok(())
}

fn with_bug(act: impl Fn(&mut MetaRow) + 'static) -> String {
    let corrupt: Corrupt = Box::new(move |entry: &Entry, _: &mut Reply, replica: &mut Replica| {
        let body = entry.commands.first().and_then(|c| c.body.as_ref());
        if !matches!(body, Some(Body::Recover(_))) {
            return;
        }
        let key = keys::meta::key(SHARD);
        let mut row = MetaRow::decode(replica.store.rows[&key].as_slice()).unwrap();
        act(&mut row);
        replica.store.rows.insert(key, row.encode_to_vec());
        replica.machine = Machine::rebuild(&replica.store, SHARD).unwrap().unwrap();
    });
    story(Run::with_bug(corrupt).unwrap()).expect_err("not caught")
}

#[test]
fn the_story_without_a_bug_passes() {
    story(Run::new().unwrap()).unwrap();
}

#[test]
fn a_recovery_that_a_restart_forgets_is_caught() {
    let error = with_bug(|row| row.recovery = None);
    assert!(error.contains("last contact"), "{error}");
}

#[test]
fn a_wait_for_the_shortest_lease_is_caught() {
    let error = with_bug(|row| {
        if let Some(recovery) = &mut row.recovery {
            recovery.until_ms = 1_500 + 5_000;
        }
    });
    assert!(error.contains("last contact"), "{error}");
}

#[test]
fn tokens_that_go_on_where_they_were_are_caught() {
    let error = with_bug(|row| {
        if let Some(recovery) = row.recovery {
            row.token = recovery.token;
        }
    });
    assert!(error.contains("token"), "{error}");
}
