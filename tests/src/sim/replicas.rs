//! Checks of what replicas hold: the machine's invariants on each, and the same rows at the same applied index.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use machine::invariants::{STEPS, View, check_state};
use machine::{Machine, ShardId};
use raftlog::{GroupState, GroupStatus, StateDb, StopReason};

use super::cluster::Cluster;
use super::shard_rows::{NodeRows, ShardRows};

/// Invariants of one step that hold over many as well.
const FORWARD: [&str; 2] = ["I19", "I20"];

/// The newest state that was seen of a shard while its range ended with some hash.
struct Newest {
    index: u64,
    view: Rc<View>,
}

/// What was seen of all replicas so far.
#[derive(Default)]
pub(super) struct Replicas {
    /// Hash of the rows, by shard and applied index.
    seen: BTreeMap<(u64, u64), u64>,
    /// Applied index that was checked last, by shard and node.
    checked: BTreeMap<(u64, u64), u64>,
    checks: u64,
    /// Term in which a node was seen to lead, by shard and node.
    leading: BTreeMap<(u64, u64), u64>,
    /// By shard and the last hash of its range.
    newest: BTreeMap<(u64, u64), Newest>,
    /// Replicas of children that began without rows, by shard and node.
    fed: BTreeSet<(u64, u64)>,
}

impl Replicas {
    /// How many states were checked.
    pub(super) const fn checks(&self) -> u64 {
        self.checks
    }

    /// How many replicas of children had to be fed from the start.
    pub(super) fn fed(&self) -> u64 {
        self.fed.len() as u64
    }

    /// Checks every replica that has moved on.
    pub(super) fn check(&mut self, cluster: &Cluster) {
        for node in 1..=cluster.world.plan.nodes {
            let Some(open) = cluster.process(node).node() else {
                continue;
            };
            let engine = open.engine();
            match check_ranges(&open.shards(), &engine.state()) {
                Ok(without_rows) => self
                    .fed
                    .extend(without_rows.into_iter().map(|shard| (shard, node))),
                Err(what) => cluster.trace.violation(format!("P3: at {node} {what}")),
            }
            for shard in open.shards().into_iter().map(ShardId) {
                let Some(group) = engine.group(shard.0) else {
                    continue;
                };
                let status = group.status();
                if let GroupState::Stopped(reason) = &status.state
                    && *reason != StopReason::Shutdown
                {
                    cluster
                        .trace
                        .violation(format!("shard {} stopped at {node}: {reason}", shard.0));
                }
                self.note_leader(cluster, shard, node, &status);
                let index = status.applied_index;
                if index == 0 || self.checked.insert((shard.0, node), index) == Some(index) {
                    continue;
                }
                self.checks += 1;
                if let Err(what) = self.check_one(shard, index, &engine.state()) {
                    let shard = shard.0;
                    cluster
                        .trace
                        .violation(format!("shard {shard} at {node}, entry {index}: {what}"));
                }
            }
        }
    }

    /// For whoever reads the trace.
    fn note_leader(&mut self, cluster: &Cluster, shard: ShardId, node: u64, status: &GroupStatus) {
        let place = (shard.0, node);
        if !status.is_leader {
            self.leading.remove(&place);
        } else if self.leading.insert(place, status.term) != Some(status.term) {
            cluster.trace.event(format!(
                "{node} leads shard {} in term {}",
                shard.0, status.term
            ));
        }
    }

    /// What only goes forward, since the newest earlier state of the shard; of a child, since its parent's before the split.
    fn check_forward(
        &mut self,
        shard: ShardId,
        index: u64,
        last: u64,
        view: View,
        db: &StateDb,
    ) -> Result<(), String> {
        let newest = self.newest.iter().filter(|((of, _), _)| *of == shard.0);
        let newest = newest.max_by_key(|(_, newest)| newest.index);
        if newest.is_some_and(|(_, newest)| newest.index >= index) {
            return Ok(());
        }
        let before = match newest {
            Some((_, newest)) => Some(Rc::clone(&newest.view)),
            None => self.parent(shard, last, db)?,
        };
        if let Some(before) = before {
            let forward = STEPS.iter().filter(|step| FORWARD.contains(&step.number));
            for step in forward {
                (step.check)(&before, &view).map_err(|violation| violation.to_string())?;
            }
        }
        let view = Rc::new(view);
        self.newest.insert((shard.0, last), Newest { index, view });
        Ok(())
    }

    /// The newest state of the shard that a child was split from while it still had the child's range.
    fn parent(&self, child: ShardId, last: u64, db: &StateDb) -> Result<Option<Rc<View>>, String> {
        for ((shard, before), newest) in &self.newest {
            let named = Machine::stored_split(&NodeRows(db), ShardId(*shard), child);
            if *before == last && named.map_err(|error| error.to_string())? {
                return Ok(Some(Rc::clone(&newest.view)));
            }
        }
        Ok(None)
    }

    fn check_one(&mut self, shard: ShardId, index: u64, db: &StateDb) -> Result<(), String> {
        let rows = ShardRows::read(db, shard)?;
        let view = View::read(&rows, shard).map_err(|error| error.to_string())?;
        check_state(&view).map_err(|violation| violation.to_string())?;
        self.check_forward(shard, index, rows.last, view, db)?;
        let hash = rows.hash();
        let first = *self.seen.entry((shard.0, index)).or_insert(hash);
        if first == hash {
            Ok(())
        } else {
            Err("the rows differ from those of another replica at the same entry".to_owned())
        }
    }
}

/// On one node a row is one shard's: a child is never there while its parent has not applied the split. The shards that have no rows
/// yet, for what their parents left came with a snapshot.
fn check_ranges(shards: &[u64], db: &StateDb) -> Result<Vec<u64>, String> {
    let (mut ranges, mut without_rows) = (Vec::new(), Vec::new());
    for shard in shards {
        let range = Machine::stored_range(&NodeRows(db), ShardId(*shard));
        let range = range.map_err(|error| error.to_string())?;
        match range {
            Some((first, last)) => ranges.push((first, last, *shard)),
            None => without_rows.push(*shard),
        }
    }
    ranges.sort_unstable();
    match ranges.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        Some(pair) => Err(format!("two shards have the same rows: {pair:?}")),
        None => Ok(without_rows),
    }
}
