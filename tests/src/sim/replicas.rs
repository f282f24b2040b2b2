//! Checks of what replicas hold: the machine's invariants on each, and the same rows at the same applied index.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use machine::invariants::{View, check_state};
use machine::{Row, Rows, RowsError, ShardId};
use raftlog::{GroupState, KeyRange, StateDb, StopReason};

use frontier_node::ShardRange;

use super::cluster::Cluster;
use super::plan::NODES;

/// The rows of one shard of a node, as the machine's invariants read them: as if there were no others.
struct ShardRows {
    db: StateDb,
    /// In ascending order.
    ranges: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ShardRows {
    fn new(db: StateDb, range: ShardRange) -> Self {
        let mut ranges = machine::key_ranges(ShardId(range.shard), range.first, range.last);
        ranges.sort();
        Self { db, ranges }
    }
}

impl Rows for ShardRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.db
            .get(key)
            .map_err(|error| RowsError(error.to_string()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        let mut rows = Vec::new();
        for (first, end) in &self.ranges {
            let (from, to) = (from.max(first), to.min(end));
            if from < to && rows.len() < limit {
                let found = self.db.scan(&KeyRange::new(from, to), limit - rows.len());
                rows.extend(found.map_err(|error| RowsError(error.to_string()))?);
            }
        }
        Ok(rows)
    }
}

/// What was seen of all replicas so far.
#[derive(Default)]
pub(super) struct Replicas {
    /// Hash of the rows, by shard and applied index.
    seen: BTreeMap<(u64, u64), u64>,
    /// Applied index that was checked last, by shard and node.
    checked: BTreeMap<(u64, u64), u64>,
    checks: u64,
}

impl Replicas {
    /// How many states were checked.
    pub(super) const fn checks(&self) -> u64 {
        self.checks
    }

    /// Checks every replica that has moved on.
    pub(super) fn check(&mut self, cluster: &Cluster) {
        for node in 1..=NODES {
            let Some(open) = cluster.process(node).node() else {
                continue;
            };
            let engine = open.engine();
            for range in frontier_node::equal_ranges(cluster.world.plan.shards) {
                let shard = ShardId(range.shard);
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
                let index = status.applied_index;
                if index == 0 || self.checked.insert((shard.0, node), index) == Some(index) {
                    continue;
                }
                self.checks += 1;
                if let Err(what) =
                    self.check_one(shard, index, &ShardRows::new(engine.state(), range))
                {
                    let shard = shard.0;
                    cluster
                        .trace
                        .violation(format!("shard {shard} at {node}, entry {index}: {what}"));
                }
            }
        }
    }

    fn check_one(&mut self, shard: ShardId, index: u64, rows: &ShardRows) -> Result<(), String> {
        let view = View::read(rows, shard).map_err(|error| error.to_string())?;
        check_state(&view).map_err(|violation| violation.to_string())?;
        let hash = hash_rows(shard, rows)?;
        let first = *self.seen.entry((shard.0, index)).or_insert(hash);
        if first == hash {
            Ok(())
        } else {
            Err("the rows differ from those of another replica at the same entry".to_owned())
        }
    }
}

fn hash_rows(shard: ShardId, rows: &ShardRows) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    for (from, to) in machine::key_ranges(shard, 0, u64::MAX) {
        let found = rows.scan(&from, &to, usize::MAX);
        found.map_err(|error| error.to_string())?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
