//! A shard that splits and one that does not, in lock-step over the same commands and stamps. Every lease call takes all that is
//! ready, so that which host goes first does not matter: then every host must be leased at the same moments with the same
//! work and deadline, every item answered the same, and every row be the same but for the numbers of tokens.

use crate::{
    Body, Command, CommandReply, Entry, Machine, Overlay,
    command::{
        discover::DiscoverResult,
        lease::{Lease, LeaseKey, LeaseReply},
        remove::{Remove, RemoveReply},
        report::ReportResult,
        split::{Split, SplitReply},
    },
    invariants::{self, View},
    keys,
    rebuild_tests::{Draw, World},
    testing::{MemRows, Shard},
};
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;

/// The shard that splits: its rows, and the machines over them.
struct Pair {
    rows: MemRows,
    machines: Vec<Machine>,
    /// Tokens of the pair by key and the token of the shard that does not split.
    tokens: BTreeMap<(LeaseKey, u64), u64>,
}

impl Pair {
    fn of(shard: &Shard) -> Self {
        let rows = MemRows {
            rows: shard.rows.rows.clone(),
            ..MemRows::default()
        };
        let machine = Machine::rebuild(&rows, shard.m.shard()).unwrap().unwrap();
        Self {
            rows,
            machines: vec![machine],
            tokens: BTreeMap::new(),
        }
    }

    /// Applies an entry to all machines and gives what each answers to its one command.
    fn apply(&mut self, entry: &Entry) -> Vec<CommandReply> {
        let mut replies = Vec::new();
        for machine in &mut self.machines {
            let mut overlay = Overlay::default();
            let reply = machine.apply(&self.rows, entry, &mut overlay).unwrap();
            self.rows.commit(&mut overlay);
            replies.extend(reply.replies);
        }
        replies
    }

    /// Splits the last machine.
    fn split(&mut self, entry: &Entry) {
        let mut overlay = Overlay::default();
        let (last, others) = self.machines.split_last_mut().unwrap();
        for machine in others {
            let tick = Entry {
                commands: Vec::new(),
                ..entry.clone()
            };
            machine.apply(&self.rows, &tick, &mut overlay).unwrap();
        }
        let reply = last.apply(&self.rows, entry, &mut overlay).unwrap();
        assert!(matches!(
            reply.replies[..],
            [CommandReply::Split(SplitReply::Done(_))]
        ));
        self.rows.commit(&mut overlay);
        let children = last.take_children();
        self.machines.extend(children);
    }

    /// The same ends of leases under the pair's tokens.
    fn with_tokens(&self, body: &Body) -> Body {
        let token = |key: Option<LeaseKey>, token: u64| {
            key.and_then(|key| self.tokens.get(&(key, token)).copied())
                .unwrap_or(token)
        };
        let mut body = body.clone();
        match &mut body {
            Body::Report(batch) => {
                for item in &mut batch.items {
                    item.token = token(item.key, item.token);
                }
            }
            Body::Release(batch) => {
                for item in &mut batch.items {
                    item.token = token(item.key, item.token);
                }
            }
            _ => {}
        }
        body
    }

    fn check(&self) {
        for machine in &self.machines {
            invariants::rebuild(machine, &self.rows).unwrap();
            let view = View::read_own(&self.rows, machine.shard()).unwrap();
            invariants::check_state(&view).unwrap();
        }
    }
}

/// What is granted, whatever the token, in the order of keys.
fn granted(replies: &[CommandReply]) -> Vec<Lease> {
    let mut all = Vec::new();
    for reply in replies {
        match reply {
            CommandReply::Lease(LeaseReply::Granted { leases, .. }) => all.extend(leases.clone()),
            other => panic!("{other:?}"),
        }
    }
    all.sort_by_key(|lease| lease.key);
    all
}

fn without_tokens(leases: &[Lease]) -> Vec<Lease> {
    let plain = leases.iter().cloned();
    plain.map(|lease| Lease { token: 0, ..lease }).collect()
}

/// Each item's answer of the one shard that has it.
fn joined<T: Clone + std::fmt::Debug>(answers: Vec<Vec<T>>, is_wrong: fn(&T) -> bool) -> Vec<T> {
    let items = answers.iter().map(Vec::len).max().unwrap_or(0);
    (0..items)
        .map(|at| {
            let of_item: Vec<&T> = answers.iter().map(|answer| &answer[at]).collect();
            let mut taken = of_item.iter().filter(|answer| !is_wrong(answer));
            let answer = taken.next().expect("a shard has it");
            assert!(taken.next().is_none(), "{of_item:?}");
            (**answer).clone()
        })
        .collect()
}

/// One answer out of those of all shards; `None` where they say different things rightly.
fn join(replies: Vec<CommandReply>) -> Option<CommandReply> {
    match replies.first()? {
        CommandReply::Discover(_) => {
            let answers = replies.into_iter().map(|reply| match reply {
                CommandReply::Discover(results) => results,
                other => panic!("{other:?}"),
            });
            let is_wrong = |result: &DiscoverResult| *result == DiscoverResult::WrongShard;
            Some(CommandReply::Discover(joined(answers.collect(), is_wrong)))
        }
        CommandReply::Report(_) | CommandReply::Release(_) => {
            let answers = replies.into_iter().map(|reply| match reply {
                CommandReply::Report(results) | CommandReply::Release(results) => results,
                other => panic!("{other:?}"),
            });
            let is_wrong = |result: &ReportResult| *result == ReportResult::WrongShard;
            Some(CommandReply::Report(joined(answers.collect(), is_wrong)))
        }
        _ => None,
    }
}

/// Rows keyed by partition, without the numbers of tokens and of outbox sequences.
fn plain_rows(rows: &MemRows) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut plain: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for (key, value) in &rows.rows {
        let mut key = key.clone();
        let value = match key[0] {
            keys::meta::TAG | keys::crawl::TAG | keys::session::TAG => continue,
            keys::lease::TAG => {
                let mut row = keys::lease::LeaseRow::decode(value.as_slice()).unwrap();
                row.token = 0;
                row.encode_to_vec()
            }
            keys::url::TAG => {
                let mut row = keys::url::UrlRow::decode(value.as_slice()).unwrap();
                row.closed_token = row.closed_token.min(1);
                row.encode_to_vec()
            }
            keys::robots::TAG => {
                let mut row = keys::robots::RobotsRow::decode(value.as_slice()).unwrap();
                row.closed_token = row.closed_token.min(1);
                row.encode_to_vec()
            }
            keys::outbox::TAG => {
                key.truncate(9);
                value.clone()
            }
            _ => value.clone(),
        };
        plain.entry(key).or_default().push(value);
    }
    plain
}

/// Both, step by step.
struct Twins {
    world: World,
    pair: Pair,
    next: u64,
}

impl Twins {
    fn new() -> Self {
        let world = World::new();
        Self {
            pair: Pair::of(&world.shard),
            world,
            next: 2,
        }
    }

    fn entry(&self, body: Option<Body>) -> Entry {
        let command = body.map(|body| Command { body: Some(body) });
        Entry {
            now_ms: self.world.shard.now_ms,
            wall_unix_ms: self.world.shard.wall_ms,
            commands: command.into_iter().collect(),
        }
    }

    /// A point around a site of the world, or anywhere. The other shard gets an empty entry, so that what is due ends at both.
    fn split(&mut self, draw: u64) {
        let sites = [0, 1, 2].map(|n| crate::testing::partition(&format!("http://s{n}.example/")));
        let at = match draw % 4 {
            3 => draw,
            n => sites[n as usize] + (draw >> 8) % 2,
        };
        let last = self.pair.machines.last().unwrap();
        let (first, end) = last.range();
        if at <= first || at > end {
            return;
        }
        let split = Split {
            child: self.next,
            at,
            epoch: last.epoch(),
        };
        self.next += 1;
        self.world.shard.tick();
        self.pair.split(&self.entry(Some(Body::Split(split))));
        self.compare();
    }

    fn step(&mut self, draw: Draw) {
        self.world.pass(draw);
        match self.world.body(draw) {
            None => return,
            Some(Body::Remove(slice)) => self.remove(slice),
            Some(Body::Lease(mut call)) => {
                call.max_leases = 256;
                self.lease(Body::Lease(call));
            }
            Some(body) => {
                let entry = self.entry(Some(self.pair.with_tokens(&body)));
                let of_pair = join(self.pair.apply(&entry));
                let one = self.world.shard.entry(vec![body]);
                let of_one = join(one);
                assert_eq!(of_one, of_pair);
            }
        }
        self.compare();
    }

    fn lease(&mut self, body: Body) {
        let replies = self.pair.apply(&self.entry(Some(body.clone())));
        let leases = granted(&replies);
        let one = self.world.shard.entry(vec![body]);
        let of_one = granted(&one);
        assert_eq!(without_tokens(&of_one), without_tokens(&leases));
        let tokens = of_one.iter().zip(&leases);
        let tokens = tokens.map(|(one, lease)| ((one.key, one.token), lease.token));
        self.pair.tokens.extend(tokens);
        self.world.leases.extend(of_one);
        let hints = replies.iter().map(|reply| match reply {
            CommandReply::Lease(LeaseReply::Granted {
                next_ready_in_ms, ..
            }) => *next_ready_in_ms,
            other => panic!("{other:?}"),
        });
        let CommandReply::Lease(LeaseReply::Granted {
            next_ready_in_ms, ..
        }) = &one[0]
        else {
            panic!("{one:?}");
        };
        assert_eq!(hints.flatten().min(), *next_ready_in_ms);
    }

    /// Slices until all say that there is no more to do.
    fn remove(&mut self, slice: Remove) {
        let run = |apply: &mut dyn FnMut(Body) -> CommandReply| {
            let (mut sum, mut cursor) = (RemoveReply::default(), Vec::new());
            loop {
                let body = Body::Remove(Remove {
                    cursor,
                    ..slice.clone()
                });
                let CommandReply::Remove(reply) = apply(body) else {
                    panic!();
                };
                sum.removed += reply.removed;
                sum.marked += reply.marked;
                cursor = reply.cursor;
                if cursor.is_empty() {
                    return sum;
                }
            }
        };
        let shard = &mut self.world.shard;
        let of_one = run(&mut |body| shard.entry(vec![body]).pop().unwrap());
        let stamps = self.entry(None);
        let mut of_pair = RemoveReply::default();
        let Pair { rows, machines, .. } = &mut self.pair;
        for machine in machines {
            let part = run(&mut |body| {
                let entry = Entry {
                    commands: vec![Command { body: Some(body) }],
                    ..stamps.clone()
                };
                let mut overlay = Overlay::default();
                let mut reply = machine.apply(rows, &entry, &mut overlay).unwrap();
                rows.commit(&mut overlay);
                reply.replies.pop().unwrap()
            });
            of_pair.removed += part.removed;
            of_pair.marked += part.marked;
        }
        assert_eq!(of_one, of_pair);
    }

    /// Every row of every host, URL, lease and schedule; and sums of the books but for what was taken over.
    fn compare(&self) {
        let (one, pair) = (
            plain_rows(&self.world.shard.rows),
            plain_rows(&self.pair.rows),
        );
        for (key, value) in &one {
            assert_eq!(
                Some(value),
                pair.get(key),
                "{:?}",
                String::from_utf8_lossy(key)
            );
        }
        assert_eq!(one.len(), pair.len());
        let whole = self.world.shard.m.status();
        let parts: Vec<_> = self.pair.machines.iter().map(Machine::status).collect();
        let sum = |of: fn(&crate::ShardStatus) -> u64| parts.iter().map(of).sum::<u64>();
        let taken_over = sum(|part| part.counters["split_taken_over"]);
        let terms: [fn(&crate::ShardStatus) -> u64; 10] = [
            |part| part.terms.queued,
            |part| part.terms.scheduled,
            |part| part.terms.leased,
            |part| part.terms.removed,
            |part| part.active_hosts,
            |part| part.robots_waiting,
            |part| part.outbox.entered,
            |part| part.outbox.waiting,
            |part| part.outbox.delivered,
            |part| part.ready.leased,
        ];
        for of in terms {
            assert_eq!(of(&whole), sum(of));
        }
        assert_eq!(
            whole.terms.accepted + taken_over,
            sum(|part| part.terms.accepted)
        );
        let ended = |terms: &crate::ConservationTerms| terms.done + terms.refused;
        let of_parts: u64 = parts.iter().map(|part| ended(&part.terms)).sum();
        assert_eq!(ended(&whole.terms) + taken_over, of_parts);
    }
}

proptest! {
    #![proptest_config(super::random_tests::config())]

    #[test]
    fn every_host_fares_as_if_nothing_was_split(
        before in proptest::collection::vec(any::<Draw>(), 0..120),
        splits in proptest::collection::vec((any::<u64>(), proptest::collection::vec(any::<Draw>(), 0..60)), 1..4),
    ) {
        let mut twins = Twins::new();
        for draw in before {
            twins.step(draw);
        }
        for (point, after) in splits {
            twins.split(point);
            twins.pair.check();
            for draw in after {
                twins.step(draw);
            }
        }
        twins.pair.check();
    }
}
