//! What is refused, what is answered again, and what the command looks like.

use super::*;
use crate::{
    Body, Command, CommandReply, Entry, Machine,
    command::split::{Split, SplitRefusal},
    limits,
};
use prost::Message;

#[test]
fn two_splits_in_one_entry_give_two_children() {
    let mut parent = Shard::new();
    let split = |child, at, epoch| Body::Split(Split { child, at, epoch });
    let replies = parent.entry(vec![split(2, AT, 0), split(3, AT / 2, 1)]);
    assert_eq!(
        replies,
        [
            CommandReply::Split(done(2, AT, u64::MAX, 1)),
            CommandReply::Split(done(3, AT / 2, AT - 1, 2))
        ]
    );
    let shards: Vec<_> = parent
        .m
        .take_children()
        .iter()
        .map(Machine::shard)
        .collect();
    assert_eq!(shards, [ShardId(2), ShardId(3)]);
    assert!(parent.m.take_children().is_empty());
    assert_eq!(parent.m.range(), (0, AT / 2 - 1));
}

/// What a split must not change when it is refused: all rows but the stamps.
fn unchanged(shard: &mut Shard, split: Split, refusal: SplitRefusal) {
    shard.tick();
    let before = shard.rows.rows.clone();
    assert_eq!(
        shard.split(split.child, split.at, split.epoch),
        SplitReply::Refused(refusal)
    );
    assert_eq!(shard.rows.rows, before, "{split:?}");
    assert!(shard.m.take_children().is_empty());
    shard.rebuild();
}

#[test]
fn refusals_change_nothing() {
    use SplitRefusal::{
        NothingLeft, OtherSplit, OutsideRange, StaleEpoch, UnknownChild, UsedChild,
    };
    let (low, high) = sides();
    let mut shard = Shard::new();
    allowed(&mut shard, &[&low, &high]);
    let split = |child, at, epoch| Split { child, at, epoch };
    unchanged(&mut shard, split(0, AT, 0), UnknownChild);
    unchanged(&mut shard, split(1, AT, 0), UsedChild);
    unchanged(&mut shard, split(2, 0, 0), NothingLeft);
    unchanged(&mut shard, split(2, AT, u64::MAX), StaleEpoch { epoch: 0 });
    // An epoch ahead of the shard's is taken over.
    assert_eq!(shard.split(5, AT, 7), done(5, AT, u64::MAX, 8));
    let mut child = shard.child();
    let other = OtherSplit {
        done: SplitDone {
            child: ShardId(5),
            at: AT,
            last: u64::MAX,
            epoch: 8,
        },
    };
    unchanged(&mut shard, split(6, AT / 2, 7), other);
    unchanged(&mut shard, split(5, AT / 2, 7), other);
    unchanged(&mut shard, split(6, AT / 2, 6), StaleEpoch { epoch: 8 });
    unchanged(&mut shard, split(5, AT / 2, 8), UsedChild);
    unchanged(&mut shard, split(4, AT / 2, 8), UsedChild);
    let (first, last) = (0, AT - 1);
    unchanged(&mut shard, split(6, AT, 8), OutsideRange { first, last });
    unchanged(
        &mut child,
        split(6, AT - 1, 8),
        OutsideRange {
            first: AT,
            last: u64::MAX,
        },
    );
    unchanged(&mut child, split(6, AT, 8), NothingLeft);
    unchanged(&mut child, split(5, AT + 1, 8), UsedChild);
    unchanged(&mut child, split(6, AT + 1, 7), StaleEpoch { epoch: 8 });
}

#[test]
fn a_repeat_is_answered_as_before_and_changes_nothing() {
    let (low, high) = sides();
    let mut shard = Shard::new();
    allowed(&mut shard, &[&low, &high]);
    split(&mut shard);
    shard.split(3, AT / 2, 1);
    shard.child();
    let before = shard.rows.rows.clone();
    for epoch in [0, 1, 2, 9] {
        assert_eq!(shard.split(CHILD, AT, epoch), done(CHILD, AT, u64::MAX, 1));
        assert_eq!(shard.split(3, AT / 2, epoch), done(3, AT / 2, AT - 1, 2));
        shard.rebuild();
    }
    assert_eq!(shard.rows.rows, before);
    assert!(shard.m.take_children().is_empty());
}

#[test]
fn the_last_splits_are_remembered() {
    let mut shard = Shard::new();
    let splits = limits::SPLITS_REMEMBERED as u64 + 1;
    for n in 0..splits {
        assert!(matches!(
            shard.split(n + 2, u64::MAX - n, n),
            SplitReply::Done(_)
        ));
    }
    assert_eq!(shard.m.meta.splits.len(), limits::SPLITS_REMEMBERED);
    assert_eq!(
        shard.split(3, u64::MAX - 1, 1),
        done(3, u64::MAX - 1, u64::MAX - 1, 2)
    );
    assert_eq!(
        shard.split(2, u64::MAX, splits),
        SplitReply::Refused(SplitRefusal::UsedChild)
    );
}

#[test]
fn a_range_of_one_hash_is_not_split() {
    let mut shard = Shard::new();
    shard.split(2, 5, 0);
    let mut child = shard.child();
    child.split(3, 6, 1);
    child.child();
    assert_eq!(child.m.range(), (5, 5));
    assert_eq!(
        child.split(4, 5, 2),
        SplitReply::Refused(SplitRefusal::NothingLeft)
    );
}

// What is in logs now reads as before, and the new command has its pinned form.
#[test]
fn the_encoding_of_the_command_is_pinned() {
    let command = Command {
        body: Some(Body::Split(Split {
            child: 2,
            at: 0x0102_0304_0506_0708,
            epoch: 3,
        })),
    };
    let entry = Entry {
        now_ms: 1,
        wall_unix_ms: 2,
        commands: vec![command],
    };
    let bytes = entry.encode_to_vec();
    let expected = [
        8, 1, 16, 2, 26, 22, // now, wall, one command
        66, 20, // body 8
        9, 2, 0, 0, 0, 0, 0, 0, 0, // child
        17, 8, 7, 6, 5, 4, 3, 2, 1, // at
        24, 3, // epoch
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Entry::decode(bytes.as_slice()).unwrap(), entry);
    // A command without a body, as an unknown one is read by a version that does not know it.
    assert_eq!(
        Entry::decode([26, 0].as_slice()).unwrap().commands,
        [Command { body: None }]
    );
}
