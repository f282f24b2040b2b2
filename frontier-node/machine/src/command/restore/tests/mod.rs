//! Shards of a backup made into other shards: what they know then, what is refused, what an interruption leaves.

mod late;
mod random;
mod refusals;
mod shapes;

use super::*;
use crate::{
    Body, CommandReply, Machine, Overlay, Rows as ReadRows, ShardId,
    backup::{self, BackupRow, Cut, RowList},
    command::recover::{Recover, RecoverReply},
    invariants::{self, View},
    testing::*,
};
use prost::Message;

/// Of every restore here.
const ID: u64 = 77;

/// A shard's cut.
pub(super) struct Source {
    pub cut: Cut,
    pub rows: Vec<BackupRow>,
}

pub(super) fn rows_in(rows: &dyn ReadRows, ranges: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<BackupRow> {
    let all = ranges
        .into_iter()
        .flat_map(|(from, to)| rows.scan(&from, &to, usize::MAX).unwrap());
    all.map(|(key, value)| BackupRow { key, value }).collect()
}

pub(super) fn cut(rows: &dyn ReadRows, shard: ShardId) -> Source {
    let meta = rows.get(&Cut::key(shard)).unwrap().unwrap();
    let cut = Cut::read(&meta).unwrap();
    Source {
        rows: rows_in(rows, backup::cut_ranges(shard, &cut)),
        cut,
    }
}

/// A new shard, which has run for a second.
pub(super) fn empty(shard: u64, first: u64, last: u64) -> Shard {
    let mut target = Shard::bare();
    let mut overlay = Overlay::default();
    target.m = Machine::create(ShardId(shard), first, last, &mut overlay);
    target.rows.commit(&mut overlay);
    (target.overlay, target.now_ms) = (Overlay::default(), 1_000);
    target.tick();
    target
}

pub(super) fn step(target: &mut Shard, step: Step) -> RestoreReply {
    let restore = Restore {
        id: ID,
        step: Some(step),
    };
    match target.one(Body::Restore(restore)) {
        CommandReply::Restore(reply) => reply,
        other => panic!("{other:?}"),
    }
}

pub(super) fn taken(target: &mut Shard, part: Step) -> RestoreDone {
    match step(target, part) {
        RestoreReply::Done(done) => done,
        RestoreReply::Refused(reason) => panic!("{reason}"),
    }
}

pub(super) fn begin(sources: &[Source]) -> Begin {
    let highest = |of: fn(&Cut) -> u64| sources.iter().map(|source| of(&source.cut)).max();
    Begin {
        now_ms: highest(|cut| cut.now_ms).unwrap(),
        token: highest(|cut| cut.token).unwrap(),
        outbox_sequence: highest(|cut| cut.outbox_sequence).unwrap(),
        ..Begin::default()
    }
}

/// What of the sources belongs to a shard, in batches of `most` rows.
pub(super) fn batches(target: &Shard, sources: &[Source], most: usize) -> Vec<Rows> {
    let (first, last) = target.m.range();
    let mut batches = Vec::new();
    for source in sources {
        let is_theirs = |row: &&BackupRow| {
            backup::partition(&row.key).is_none_or(|partition| (first..=last).contains(&partition))
        };
        let rows: Vec<_> = source.rows.iter().filter(is_theirs).cloned().collect();
        batches.extend(
            rows.chunks(most)
                .map(|rows| (source.cut.now_ms, rows.to_vec())),
        );
    }
    let numbered = (1..).zip(batches);
    let batch = |(sequence, (source_now_ms, rows))| Rows {
        sequence,
        source_now_ms,
        rows: RowList { rows }.encode_to_vec(),
    };
    numbered.map(batch).collect()
}

/// Restores a shard whole and checks it; every batch comes twice, with a restart in between.
pub(super) fn restore(target: &mut Shard, sources: &[Source]) {
    taken(target, Step::Begin(begin(sources)));
    target.now_ms = target.m.now_ms();
    for batch in batches(target, sources, 7) {
        taken(target, Step::Rows(batch.clone()));
        target.rebuild();
        taken(target, Step::Rows(batch));
    }
    taken(target, Step::Build(Build {}));
    target.rebuild();
    taken(target, Step::Close(Close {}));
    recovered(target);
    check(target);
}

/// Ends the leases that were out.
pub(super) fn recovered(target: &mut Shard) {
    loop {
        match target.one(Body::Recover(Recover { id: ID })) {
            CommandReply::Recover(RecoverReply::Done(done)) if done.leases_left == 0 => break,
            CommandReply::Recover(RecoverReply::Done(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// All invariants.
pub(super) fn check(target: &mut Shard) {
    let view = View::read(&target.rows, target.m.shard()).unwrap();
    invariants::check_state(&view).unwrap();
    invariants::rebuild(&target.m, &target.rows).unwrap();
}
