//! How all nodes stand, asked by whoever leads group 0: who is silent and for how long, who leads what, how busy it is.
//!
//! Silence is reckoned on this process's monotonic clock from the moment it began to lead, and only while it asks: what
//! passed while the process itself was paused counts as one unanswered question.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use raftlog::Leadership;
use shard_map::{ReplicaId, ShardMap};
use tokio::sync::watch;

use super::map_cell::MapView;
use super::shaper::{Shaper, Standing};
use crate::limits::{STANDING_TIMEOUT_MS, SURVEY_INTERVAL_MS};

/// What was found under one leadership.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// The term of the leadership; 0: none yet.
    term: u64,
    /// By node; present nodes of the map only.
    nodes: BTreeMap<u32, Seen>,
    /// Entries that each group's leader applied in a second, about, in thousandths.
    loads: BTreeMap<u64, u64>,
}

/// What was found of one node.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// How long it has not answered, ms; 0: it did last time.
    silent_ms: u64,
    /// Its replicas by group, as it said last.
    standings: BTreeMap<u64, Standing>,
}

impl Survey {
    /// Whether every node was asked under this leadership.
    pub(super) const fn is_of(&self, term: u64) -> bool {
        self.term == term
    }

    /// Nodes that did not answer last time.
    pub(super) fn down(&self) -> BTreeSet<u32> {
        let silent = self.nodes.iter().filter(|(_, seen)| seen.silent_ms > 0);
        silent.map(|(node, _)| *node).collect()
    }

    /// How long a node has not answered, ms.
    pub(super) fn silent_ms(&self, node: u32) -> u64 {
        self.nodes.get(&node).map_or(0, |seen| seen.silent_ms)
    }

    /// The leader of each group, where there is one that has proven it and answers; the newest, if two say so.
    pub(super) fn leaders(&self) -> BTreeMap<u64, &Standing> {
        let mut leaders: BTreeMap<u64, &Standing> = BTreeMap::new();
        let alive = self.nodes.values().filter(|seen| seen.silent_ms == 0);
        for (group, standing) in alive.flat_map(|seen| &seen.standings) {
            let is_newer = |known: &&Standing| known.leader_term >= standing.leader_term;
            if standing.is_proven && !leaders.get(group).is_some_and(is_newer) {
                leaders.insert(*group, standing);
            }
        }
        leaders
    }

    /// The node that leads each group.
    pub(super) fn leading(&self) -> BTreeMap<u64, u32> {
        let leaders = self.leaders().into_iter();
        leaders
            .map(|(group, leader)| (group, ReplicaId(leader.replica).node()))
            .collect()
    }

    /// The work of each group, in any one unit.
    pub(super) const fn loads(&self) -> &BTreeMap<u64, u64> {
        &self.loads
    }

    /// What is known after one more round of answers, `None` for a node that gave none.
    fn after(
        &self,
        term: u64,
        answers: BTreeMap<u32, Option<BTreeMap<u64, Standing>>>,
        passed_ms: u64,
    ) -> Self {
        let before = if self.term == term {
            self
        } else {
            &Self::default()
        };
        // One question and its longest answer: the rest is this process's own pause.
        let passed_ms = passed_ms.clamp(1, SURVEY_INTERVAL_MS + STANDING_TIMEOUT_MS);
        let nodes = answers.into_iter().map(|(node, answer)| {
            let known = before.nodes.get(&node).cloned().unwrap_or_default();
            let seen = match answer {
                Some(standings) => Seen {
                    silent_ms: 0,
                    standings,
                },
                None => Seen {
                    silent_ms: known.silent_ms.saturating_add(passed_ms),
                    ..known
                },
            };
            (node, seen)
        });
        let mut next = Self {
            term,
            nodes: nodes.collect(),
            loads: BTreeMap::new(),
        };
        next.loads = before.loads_after(&next.leaders(), passed_ms);
        next
    }

    /// The loads, each new measurement a fifth of its figure.
    fn loads_after(
        &self,
        leaders: &BTreeMap<u64, &Standing>,
        passed_ms: u64,
    ) -> BTreeMap<u64, u64> {
        let known = self.leaders();
        let load = |group: &u64, leader: &Standing| {
            let last = known.get(group).copied();
            // Another leader's index is not compared with.
            let last = last.filter(|last| last.replica == leader.replica)?;
            let entries = leader.applied_index.saturating_sub(last.applied_index);
            Some(entries.saturating_mul(1_000_000) / passed_ms)
        };
        let of = |(group, leader): (&u64, &&Standing)| {
            let before = self.loads.get(group).copied();
            let now = match (before, load(group, leader)) {
                (Some(before), Some(now)) => (before.saturating_mul(4)).saturating_add(now) / 5,
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => 0,
            };
            (*group, now)
        };
        leaders.iter().map(of).collect()
    }
}

/// The task that asks.
pub(super) struct Surveyor {
    pub(super) leadership: watch::Receiver<Leadership>,
    pub(super) views: watch::Receiver<MapView>,
    pub(super) shaper: Arc<dyn Shaper>,
    pub(super) found: watch::Sender<Arc<Survey>>,
}

impl Surveyor {
    /// Runs until group 0 is closed. Where this node does not lead it asks nothing.
    pub(super) async fn run(mut self) {
        let mut asked = Instant::now();
        loop {
            let token = self.leadership.borrow_and_update().token();
            let Some(token) = token else {
                if self.leadership.changed().await.is_err() {
                    return;
                }
                asked = Instant::now();
                continue;
            };
            let map = Arc::clone(&self.views.borrow_and_update().map);
            let answers = ask_all(&map, self.shaper.as_ref()).await;
            let passed_ms = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
            asked = Instant::now();
            if map.is_founded() {
                let next = self.found.borrow().after(token.term(), answers, passed_ms);
                self.found.send_replace(Arc::new(next));
            }
            let pause = tokio::time::sleep(Duration::from_millis(SURVEY_INTERVAL_MS));
            tokio::select! {
                changed = self.leadership.changed() => if changed.is_err() { return },
                () = pause => {}
            }
        }
    }
}

async fn ask_all(
    map: &ShardMap,
    shaper: &dyn Shaper,
) -> BTreeMap<u32, Option<BTreeMap<u64, Standing>>> {
    let asked = map.present_nodes().map(|node| async move {
        let answer = shaper.report(node.number).await;
        if let Err(error) = &answer {
            tracing::debug!(node = node.number, %error, "a node does not say how it stands");
        }
        (node.number, answer.ok())
    });
    join_all(asked).await.into_iter().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn leads(replica: u64, term: u64, applied_index: u64) -> Option<BTreeMap<u64, Standing>> {
        let standing = Standing {
            replica,
            leader_term: Some(term),
            is_proven: true,
            applied_index,
            ..Standing::default()
        };
        Some(BTreeMap::from([(1, standing)]))
    }

    #[test]
    fn a_silent_node_is_down_and_its_silence_grows_only_by_what_was_asked() {
        let none = Survey::default();
        let one = none.after(3, BTreeMap::from([(1, leads(1, 1, 0)), (2, None)]), 50);
        assert!(one.is_of(3) && !none.is_of(3));
        assert_eq!(one.down(), BTreeSet::from([2]));
        assert_eq!((one.silent_ms(1), one.silent_ms(2)), (0, 50));
        // The process was paused for an hour.
        let two = one.after(3, BTreeMap::from([(1, None), (2, None)]), 3_600_000);
        let most = SURVEY_INTERVAL_MS + STANDING_TIMEOUT_MS;
        assert_eq!((two.silent_ms(1), two.silent_ms(2)), (most, 50 + most));
        let back = two.after(3, BTreeMap::from([(1, None), (2, leads(2, 1, 0))]), 50);
        assert_eq!(back.silent_ms(2), 0);
        // Another leadership reckons anew.
        let anew = two.after(4, BTreeMap::from([(1, None)]), 10);
        assert_eq!((anew.silent_ms(1), anew.silent_ms(2)), (10, 0));
    }

    #[test]
    fn the_newest_leader_that_answers_counts() {
        let none = Survey::default();
        let both = none.after(
            1,
            BTreeMap::from([(1, leads(1, 4, 0)), (2, leads(2, 5, 0))]),
            9,
        );
        assert_eq!(both.leading(), BTreeMap::from([(1, 2)]));
        let one = both.after(1, BTreeMap::from([(1, leads(1, 4, 0)), (2, None)]), 9);
        assert_eq!(one.leading(), BTreeMap::from([(1, 1)]));
    }

    #[test]
    fn loads_are_entries_of_one_leader_evened_out() {
        let none = Survey::default();
        let asked = |replica, applied| BTreeMap::from([(1, leads(replica, 1, applied))]);
        let first = none.after(1, asked(1, 100), 1_000);
        assert_eq!(first.loads()[&1], 0);
        let busy = first.after(1, asked(1, 150), 1_000);
        assert_eq!(busy.loads()[&1], 10_000);
        // Another replica leads: its index says nothing of what was done meanwhile.
        let other = busy.after(1, asked(2, 9_000_000), 1_000);
        assert_eq!(other.loads()[&1], 10_000);
    }
}
