//! Random commands against shards that split in between. Each shard has a machine with rows of its own, all invariants, twins, and
//! a model that is cut out of the model of the whole: whatever a host may do it may do after a split, and nothing else. What
//! is meant for another shard is offered too, and must be answered as wrong shard.

use super::{
    ops::{self, Op, Step},
    random_tests::{begin, config},
    run::{Run, SHARD},
    state::Judged,
    world,
};
use crate::{
    command::split::Split,
    entry::{Body, Command, CommandReply},
};
use proptest::prelude::*;

/// A step of one or all shards.
#[derive(Clone, Debug)]
enum Turn {
    All(Step),
    Split {
        which: usize,
        at: u64,
        /// 0: the next free number; else that much lower.
        used: u64,
        /// To the shard's epoch.
        epoch: i64,
    },
    /// The last split that a shard was asked for once more.
    Again {
        which: usize,
        other_point: bool,
    },
}

fn turn() -> impl Strategy<Value = Turn> {
    // Around every site of the world, and anywhere.
    let point = prop_oneof![
        6 => prop::sample::select(vec![0x10u64, 0x11, 0x18, 0x20, 0x21, 0x80]),
        1 => 0..0x1100u64,
    ];
    let used = prop_oneof![6 => Just(0u64), 1 => 1..12u64];
    let epoch = prop_oneof![6 => Just(0i64), 1 => Just(-1), 1 => Just(3)];
    prop_oneof![
        24 => ops::step().prop_map(Turn::All),
        2 => (0..4usize, point, used, epoch).prop_map(|(which, at, used, epoch)| Turn::Split { which, at, used, epoch }),
        1 => (0..4usize, any::<bool>()).prop_map(|(which, other_point)| Turn::Again { which, other_point }),
    ]
}

/// The shards.
struct Family {
    runs: Vec<Run>,
    last: Vec<Split>,
    next: u64,
    now_ms: u64,
    wall_ms: u64,
    done: usize,
}

impl Family {
    fn new() -> Judged<Self> {
        let mut run = Run::new()?;
        let (now_ms, wall_ms) = begin(&mut run)?;
        Ok(Self {
            runs: vec![run],
            last: Vec::new(),
            next: SHARD.0 + 1,
            now_ms,
            wall_ms,
            done: 0,
        })
    }

    fn turn(&mut self, turn: &Turn) -> Judged {
        match turn {
            Turn::All(Step::Entry {
                passes_ms,
                wall_step_ms,
                ops,
            }) => {
                self.now_ms += passes_ms;
                self.wall_ms = self
                    .wall_ms
                    .saturating_add(*passes_ms)
                    .saturating_add_signed(*wall_step_ms);
                self.all(ops)
            }
            Turn::All(Step::Rebuild { lock_step }) => self
                .runs
                .iter_mut()
                .try_for_each(|run| run.rebuild(*lock_step)),
            Turn::Split {
                which,
                at,
                used,
                epoch,
            } => {
                let which = which % self.runs.len();
                let child = self.next.saturating_sub(*used);
                let known = self.runs[which].model.epoch;
                let split = Split {
                    child,
                    at: *at,
                    epoch: known.saturating_add_signed(*epoch),
                };
                self.split(which, split)
            }
            Turn::Again { which, other_point } => {
                let Some(mut split) = self.last.last().copied() else {
                    return Ok(());
                };
                split.at += u64::from(*other_point);
                self.split(which % self.runs.len(), split)
            }
        }
    }

    /// Every shard gets its commands, and those that end leases or deliver rows of the others.
    fn all(&mut self, ops: &[Op]) -> Judged {
        let own: Vec<Vec<Command>> = self
            .runs
            .iter()
            .map(|run| ops.iter().map(|op| op.command(run)).collect())
            .collect();
        for (at, run) in self.runs.iter_mut().enumerate() {
            let others = own.iter().enumerate().filter(|(other, _)| *other != at);
            let foreign = others.flat_map(|(_, commands)| commands).filter(|command| {
                matches!(
                    command.body,
                    Some(Body::Report(_) | Body::Release(_) | Body::Deliver(_))
                )
            });
            let commands = own[at].iter().chain(foreign).cloned().collect();
            run.step(self.now_ms, self.wall_ms, commands)?;
        }
        Ok(())
    }

    fn split(&mut self, which: usize, split: Split) -> Judged {
        let command = Command {
            body: Some(Body::Split(split)),
        };
        let run = &mut self.runs[which];
        let replies = run.step(self.now_ms, self.wall_ms, vec![command])?;
        if !matches!(replies[..], [CommandReply::Split(_)]) {
            return Err(format!("{split:?} was answered {replies:?}"));
        }
        let children = run.take_children();
        if !children.is_empty() {
            self.done += 1;
            self.last.push(split);
            self.next = self.next.max(split.child + 1);
        }
        self.runs.extend(children);
        Ok(())
    }

    /// The ranges are those of the whole, once each.
    fn check_ranges(&self) -> Judged {
        let mut ranges: Vec<_> = self.runs.iter().map(|run| run.model.range).collect();
        ranges.sort_unstable();
        let whole = ranges.first().map(|range| range.0) == Some(world::RANGE.0)
            && ranges.last().map(|range| range.1) == Some(world::RANGE.1)
            && ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0);
        if whole && self.runs.len() == self.done + 1 {
            Ok(())
        } else {
            Err(format!("{} splits left {ranges:x?}", self.done))
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shards_that_split_and_their_models_agree(turns in proptest::collection::vec(turn(), 1..50)) {
        let mut family = Family::new().unwrap();
        let judged = turns.iter().try_for_each(|turn| family.turn(turn));
        if let Err(error) = judged.and_then(|()| family.check_ranges()) {
            prop_assert!(false, "{error}");
        }
    }
}
