//! What the bytes are. A change here is a change of the layout: raise `LAYOUT`, and say how the old one is read.

use crate::{
    Body, Command, DecodeError, LAYOUT, ShardMap,
    command::{CancelJob, Drain, StepDone},
    testing::*,
};

fn hex_of(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

#[test]
fn a_map_is_these_bytes() {
    let mut map = cluster(1, 2);
    run(&mut map, joining(2, 1));
    run(&mut map, super::settings::crawl(7, false));
    let body = splitting(&map, 2, u64::MAX);
    begin(&mut map, body);
    let body = moving(&map, 1, 0, 2);
    begin(&mut map, body);
    assert_eq!(
        hex_of(&map.to_bytes()),
        concat!(
            "01080511c1000000000000001a140951000000000000001003196b0000000000000020032a1808011a076e313a373730",
            "3122076e313a37373831280130012a1a080210011a076e323a3737303122076e323a37373831280130013225080119ff",
            "ffffffffffff7f22180a0208010a08088280808010100110021a06018280808010321f080211000000000000008019ff",
            "ffffffffffffff22090a02080110011a01013a090a02080110011a0101420e080712046e6577731a02080128034a1608",
            "01200452100802100319ffffffffffffffff2201014a0e080220055a08080118828080801050045803",
        )
    );
    assert_eq!(ShardMap::from_bytes(&map.to_bytes()).unwrap(), map);
}

#[test]
fn commands_are_these_bytes() {
    let map = cluster(3, 2);
    let mut split = Command::from(splitting(&map, 1, 0x0123_4567_89ab_cdef));
    (split.request, split.if_version) = (0xfeed, 300);
    let commands: [(Command, &str); 5] = [
        (
            split,
            "0108ac0211edfe00000000000082010d0801100119efcdab8967452301",
        ),
        (moving(&map, 2, 1, 4).into(), "018a01080802100118012004"),
        (Body::Drain(Drain { node: 3 }).into(), "016a020803"),
        (
            Body::StepDone(StepDone {
                job: 5,
                expects: crate::Step::ParentApplied.into(),
                created: vec![1, 2],
            })
            .into(),
            "01920108080510021a020102",
        ),
        (
            Body::CancelJob(CancelJob {
                job: 5,
                reason: "no".to_owned(),
                group_refused: true,
            })
            .into(),
            "019a0108080512026e6f1801",
        ),
    ];
    for (command, bytes) in commands {
        assert_eq!(hex_of(&command.to_bytes()), bytes);
        assert_eq!(Command::from_bytes(&command.to_bytes()).unwrap(), command);
    }
}

#[test]
fn an_unknown_command_reads_as_none_and_an_unknown_layout_does_not_read() {
    // Field 99, empty.
    let newer = [LAYOUT, 0x9a, 0x06, 0];
    assert_eq!(Command::from_bytes(&newer).unwrap(), Command::default());
    assert_eq!(Command::from_bytes(&[9, 1]), Err(DecodeError::Layout(9)));
    assert_eq!(Command::from_bytes(&[]), Err(DecodeError::Empty));
    let damaged = Command::from_bytes(&[LAYOUT, 0xff]);
    assert!(matches!(damaged, Err(DecodeError::Damaged(_))));
}

/// The invariant that breaks, and how.
type Change = (&'static str, fn(&mut ShardMap));

#[test]
fn a_map_that_contradicts_itself_does_not_read() {
    let map = cluster(3, 4);
    let changes: [Change; 12] = [
        ("M0", |m| m.version = 0),
        ("M1", |m| m.shards[1].first += 1),
        ("M1", |m| m.shards[3].last -= 1),
        ("M1", |m| m.shards.swap(1, 2)),
        ("M1", |m| m.shards[0].id = 4),
        ("M1", |m| m.next_shard = 4),
        ("M2", |m| m.shards[0].members.replicas.clear()),
        ("M2", |m| m.shards[0].members.replicas[0].role = 1),
        ("M2", |m| m.group_zero.issued.clear()),
        ("M2", |m| {
            m.nodes.remove(0);
        }),
        ("M4", |m| m.nodes[0].state = 9),
        ("M4", |m| m.group_zero.pinned = vec![9]),
    ];
    for (number, change) in changes {
        let mut broken = map.clone();
        change(&mut broken);
        match ShardMap::from_bytes(&broken.to_bytes()) {
            Err(DecodeError::Broken(found)) => assert_eq!(found.number, number, "{found}"),
            other => panic!("{number}: {other:?}"),
        }
    }
    let mut two_jobs = map;
    let body = splitting(&two_jobs, 1, 5);
    begin(&mut two_jobs, body);
    let mut again = two_jobs.jobs[0].clone();
    again.id = 2;
    two_jobs.next_job = 3;
    two_jobs.jobs.push(again);
    let read = ShardMap::from_bytes(&two_jobs.to_bytes());
    assert!(matches!(read, Err(DecodeError::Broken(found)) if found.number == "M3"));
}
