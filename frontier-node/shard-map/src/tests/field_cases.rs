//! Cases from the field that concern the map.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Body, Command, DecodeError, Fate, Refusal, ReplicaId, ShardMap, Step,
    command::{CancelJob, SplitShard, WishLeader},
    placement,
    policy::{BalanceRules, Measured, SplitRules, proposed_splits, wanted_transfers},
    testing::*,
};

/// Domains of millions of hosts took half of the crawl's time in every partition: shards are weighed by work, and a
/// wide site gets a shard of its own.
#[test]
// case J1
fn a_wide_site_gets_a_shard_of_its_own_and_work_is_what_counts() {
    let map = cluster(3, 2);
    let site = 1 << 50;
    let wide = Measured {
        load: 500,
        heaviest: Some((site, 80)),
        ..Measured::default()
    };
    let measured = BTreeMap::from([(1, wide)]);
    let rules = SplitRules {
        enabled: true,
        load: 100,
        at_once: 1,
        ..SplitRules::default()
    };
    let splits = proposed_splits(&map, &measured, &rules);
    let alone = SplitShard {
        shard: 1,
        epoch: 1,
        at: site,
        alone: true,
    };
    assert_eq!(splits, [alone]);
    // One node leads one busy group, another ten idle ones: nothing is to be gained.
    let map = cluster(3, 10);
    let leading: BTreeMap<u64, u32> = (0..=10).map(|g| (g, if g == 1 { 1 } else { 2 })).collect();
    let loads = BTreeMap::from([(1, 1_000)]);
    let transfers = wanted_transfers(&map, &leading, &loads, &NOBODY, &BalanceRules::default());
    assert_eq!(transfers, [], "ten idle groups weigh less than a busy one");
}

/// A shared formatter wrote keys that nobody could read: numbers are fixed-width fields, and what is read is checked.
#[test]
// case J16
fn every_cut_of_the_bytes_is_refused_or_is_another_valid_map() {
    let mut map = cluster(3, 3);
    let body = splitting(&map, 2, u64::MAX / 2);
    begin(&mut map, body);
    let bytes = map.to_bytes();
    let mut refused = 0;
    for end in 0..bytes.len() {
        match ShardMap::from_bytes(&bytes[..end]) {
            Ok(read) => assert!(read != map && crate::invariants::check(&read).is_ok()),
            Err(DecodeError::Empty | DecodeError::Damaged(_) | DecodeError::Broken(_)) => {
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > bytes.len() * 9 / 10);
}

/// Leadership was handed to a target that was dead, and its group stood still: only voters on nodes that are up may be
/// wished for.
#[test]
// case L4
fn leadership_is_never_handed_to_a_node_that_cannot_lead() {
    let mut map = cluster(3, 1);
    run(&mut map, joining(4, 0));
    let body = moving(&map, 1, 1, 4);
    let job = begin(&mut map, body);
    let wish = |node| Body::WishLeader(WishLeader { shard: 1, node });
    let learner = Refusal::HasNoVoter { shard: 1, node: 4 };
    assert_eq!(refused(&map, wish(4)), learner);
    finish(&mut map, job);
    run(&mut map, joining(3, 1));
    // Node 3 votes on a disk that it lost.
    let leading = BTreeMap::from([(1, 2)]);
    run(&mut map, wish(3));
    let transfers = wanted_transfers(
        &map,
        &leading,
        &BTreeMap::new(),
        &NOBODY,
        &BalanceRules::default(),
    );
    assert!(transfers.iter().all(|t| t.to != 3), "{transfers:?}");
    // Node 4 does not answer: not even a wish is followed.
    run(&mut map, wish(4));
    let down = BTreeSet::from([4]);
    let rules = BalanceRules::default();
    assert_eq!(
        wanted_transfers(&map, &leading, &BTreeMap::new(), &down, &rules),
        []
    );
    let transfers = wanted_transfers(&map, &leading, &BTreeMap::new(), &NOBODY, &rules);
    assert_eq!(transfers.iter().map(|t| t.to).collect::<Vec<_>>(), [4]);
}

/// A membership change hung on a snapshot stream to a dead node: the move is taken back, or finished without that
/// node's help.
#[test]
// case L11
fn a_move_whose_target_or_source_died_does_not_hang() {
    let mut map = cluster(3, 1);
    run(&mut map, joining(4, 0));
    let body = moving(&map, 1, 1, 4);
    let job = begin(&mut map, body);
    step(&mut map, job);
    let cancel = Body::CancelJob(CancelJob {
        job,
        reason: "node 4 is dead".to_owned(),
        group_refused: false,
    });
    run(&mut map, cancel);
    assert_eq!(finish(&mut map, job), Step::Undone);
    // The source is not asked: what it has is a tombstone before it is destroyed.
    let body = moving(&map, 1, 1, 4);
    let job = begin(&mut map, body);
    while map.job(job).unwrap().step() != Step::VotersChanged {
        step(&mut map, job);
    }
    assert_eq!(map.fate(1, ReplicaId(1)), Fate::Retired);
    assert_eq!(finish(&mut map, job), Step::Done);
}

/// A follower lost its disk and came back under its old id: stale acknowledgements made a false quorum.
#[test]
// case L17
fn a_wiped_node_comes_back_under_a_new_id_only() {
    let mut map = cluster(3, 2);
    run(&mut map, joining(2, 1));
    let again = refused(&map, joining(2, 0));
    assert!(
        matches!(again, Refusal::IncarnationReused { .. }),
        "{again}"
    );
    let moves = placement::repairs(&map, &NOBODY);
    assert_eq!(moves.len(), 3, "both shards and group 0");
    assert!(moves.iter().all(|m| (m.from, m.to) == (2, 2)));
    carry_out(&mut map, moves);
    for group in 0..=2 {
        let members = map.members(group).unwrap();
        assert_eq!(members.voter_on(2), Some(ReplicaId::new(2, 1, 0)));
        assert_eq!(map.fate(group, ReplicaId(2)), Fate::Retired);
    }
}

/// A child was made twice, a replaced one went on running, a removed one was revived as an orphan: everyone may ask
/// what becomes of it.
#[test]
// case L22
fn orphans_ask_and_die_and_what_is_being_made_lives() {
    let mut map = cluster(3, 1);
    let behind = map.clone();
    let body = splitting(&map, 1, 1 << 63);
    let job = begin(&mut map, body);
    for _ in 0..3 {
        // Made by the parent's apply or by a message: it is the same replica, and it is named before it is made.
        assert_eq!(map.fate(2, ReplicaId(3)), Fate::Belongs);
        assert_eq!(map.fate(2, ReplicaId(9)), Fate::Retired);
        step(&mut map, job);
    }
    assert_eq!(
        behind.fate(2, ReplicaId(3)),
        Fate::NotYetKnown,
        "a map that is behind kills nothing"
    );
    finish(&mut map, job);
    assert_eq!(map.fate(2, ReplicaId(3)), Fate::Belongs);
    // Replaced while it slept.
    run(&mut map, joining(4, 0));
    let body = moving(&map, 2, 3, 4);
    let job = begin(&mut map, body);
    finish(&mut map, job);
    assert_eq!(map.fate(2, ReplicaId(3)), Fate::Retired);
    assert_eq!(
        map.fate(1, ReplicaId(3)),
        Fate::Belongs,
        "the parent's is another"
    );
    assert_eq!(ShardMap::default().fate(1, ReplicaId(1)), Fate::NotYetKnown);
}

/// Clients hit a shard before it existed: the map names the child when most of its replicas have it, and a caller that
/// is behind is told by what.
#[test]
// case L23
fn the_map_names_a_child_only_when_it_can_answer() {
    let mut map = cluster(3, 1);
    let at = 1 << 63;
    let body = splitting(&map, 1, at);
    let job = begin(&mut map, body.clone());
    while map.job(job).unwrap().step() != Step::ChildCreated {
        assert_eq!(map.owner(at).unwrap().id, 1);
        step(&mut map, job);
    }
    finish(&mut map, job);
    assert_eq!(map.owner(at).unwrap().id, 2);
    let behind = refused(&map, Command::from(body));
    let current = epoch(&map, 1);
    let stale = Refusal::StaleEpoch {
        shard: 1,
        given: 1,
        current,
    };
    assert_eq!(behind, stale);
}
