//! Random sequences of commands, some of them nonsense: the invariants hold after each, a refusal changes nothing, two
//! nodes that apply the same log have the same bytes, and every job can be brought to its end.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{
    Body, Command, Members, Plan, ShardMap, Step, apply,
    command::{
        CancelJob, Drain, Leave, MoveReplica, Pin, Replace, SplitShard, StepDone, Undrain,
        WishLeader,
    },
    invariants, placement,
    testing::*,
};

/// A command in small numbers; made whole against the map of its moment, so that many of them are accepted.
#[derive(Clone, Debug)]
struct Draw {
    kind: u8,
    a: u64,
    b: u64,
    node: u32,
    other: u32,
    /// One in eight is sent with a wrong epoch or step.
    is_wrong: bool,
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let draw = (
        0..20u8,
        any::<u64>(),
        any::<u64>(),
        1..8u32,
        1..8u32,
        0..8u8,
    )
        .prop_map(|(kind, a, b, node, other, wrong)| Draw {
            kind,
            a,
            b,
            node,
            other,
            is_wrong: wrong == 0,
        });
    prop::collection::vec(draw, 1..120)
}

fn pick<T>(items: &[T], at: u64) -> Option<&T> {
    let at = at.checked_rem(items.len() as u64)?;
    items.get(usize::try_from(at).unwrap())
}

impl Draw {
    fn body(&self, map: &ShardMap) -> Option<Body> {
        let (node, wrong) = (self.node, u64::from(self.is_wrong));
        let shard = pick(&map.shards, self.a)?;
        let group = if self.b.is_multiple_of(7) {
            0
        } else {
            shard.id
        };
        let epoch = map.members(group)?.epoch + wrong;
        let running: Vec<_> = map.running_jobs().collect();
        Some(match self.kind {
            0 | 1 => Body::SplitShard(SplitShard {
                shard: shard.id,
                epoch: shard.members.epoch + wrong,
                at: shard.first + self.b % (shard.last - shard.first).max(1),
                alone: self.other == 1,
            }),
            2..=4 => Body::MoveReplica(MoveReplica {
                shard: group,
                epoch,
                from: pick(&map.members(group)?.replicas, self.b).map_or(node, |r| r.node()),
                to: self.other,
                pin: self.a.is_multiple_of(5),
                replica: 0,
            }),
            5 => Body::MoveReplica(*pick(&placement::repairs(map, &NOBODY), self.b)?),
            6 => Body::MoveReplica(*pick(&placement::on_join(map, node), self.b)?),
            7 => Body::Drain(Drain { node }),
            8 => Body::Replace(Replace { node }),
            9 => Body::Undrain(Undrain { node }),
            10 => joining(node, self.other / 2),
            11 => Body::Leave(Leave { node }),
            12 => Body::WishLeader(WishLeader { shard: group, node }),
            13 => Body::Pin(Pin {
                shard: group,
                nodes: vec![node, self.other],
            }),
            14 => Body::CancelJob(CancelJob {
                job: pick(&running, self.b)?.id,
                reason: "drawn".to_owned(),
                group_refused: self.other == 1,
            }),
            15 if self.is_wrong => Body::StepDone(StepDone {
                job: self.a % 20,
                expects: i32::try_from(self.b % 45).unwrap(),
                created: vec![],
            }),
            _ => done(pick(&running, self.b)?),
        })
    }
}

/// Brings every job to its end, by cancelling first where that is safe and `cancels` says so.
fn end_all(map: &mut ShardMap, cancels: bool) {
    let mut left = 10_000;
    loop {
        let running = map.running_jobs().next();
        let Some((id, safe, by_itself)) =
            running.map(|job| (job.id, job.can_be_cancelled(), job.evacuates().is_some()))
        else {
            break;
        };
        left -= 1;
        assert!(left > 0, "job {id} never ends");
        if safe && (cancels || by_itself) {
            run(
                map,
                Body::CancelJob(CancelJob {
                    job: id,
                    ..CancelJob::default()
                }),
            );
        } else {
            step(map, id);
        }
        let job = map.job(id).unwrap();
        assert_eq!(
            job.is_running(),
            !matches!(job.step(), Step::Done | Step::Undone)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_sequence_keeps_the_invariants(nodes in 1..6u32, shards in 1..4u64, draws in draws(), cancels: bool) {
        let mut map = cluster(nodes, shards);
        let mut twin = map.clone();
        for draw in draws {
            let Some(body) = draw.body(&map) else { continue };
            let command = Command::from(body);
            let before = map.clone();
            let answer = apply(&mut map, &command);
            prop_assert_eq!(&answer, &apply(&mut twin, &Command::from_bytes(&command.to_bytes()).unwrap()));
            prop_assert_eq!(map.to_bytes(), twin.to_bytes());
            invariants::check(&map).unwrap();
            invariants::check_follows(&before, &map).unwrap();
            match answer {
                Err(_) => prop_assert_eq!(&before, &map),
                Ok(accepted) => {
                    prop_assert_eq!(accepted.version, map.version);
                    prop_assert_eq!(accepted.changed, before.version + 1 == map.version);
                }
            }
            prop_assert_eq!(&ShardMap::from_bytes(&map.to_bytes()).unwrap(), &map);
        }
        end_all(&mut map, cancels);
        prop_assert!(map.groups().all(|(_, m): (u64, &Members)| m.replicas.len() == m.voters().count()));
    }

    #[test]
    fn planners_propose_what_is_accepted(nodes in 3..7u32, shards in 1..12u64, draws in draws(), join in 8..10u32) {
        let mut map = cluster(nodes, shards);
        for draw in draws {
            if let Some(body) = draw.body(&map) {
                let _refused_or_not = apply(&mut map, &body.into());
            }
        }
        run(&mut map, joining(join, 0));
        let emptied = map.running_jobs().filter_map(|job| job.evacuates());
        let evacuations = emptied.map(|node| placement::evacuation(&map, node, &BTreeMap::new(), &NOBODY, 3).moves);
        for planned in evacuations.chain([placement::on_join(&map, join), placement::repairs(&map, &NOBODY)]) {
            let mut aside = map.clone();
            for moved in planned {
                let job = begin(&mut aside, Body::MoveReplica(moved));
                prop_assert!(matches!(aside.job(job).unwrap().plan, Some(Plan::Move(_))));
            }
        }
    }
}
