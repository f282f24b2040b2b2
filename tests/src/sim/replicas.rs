//! Checks of what replicas hold: the machine's invariants on each, and the same rows at the same applied index.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use machine::invariants::{STEPS, View, check_state};
use machine::{Machine, Row, Rows, RowsError, ShardId};
use raftlog::{GroupState, GroupStatus, KeyRange, StateDb, StopReason};

use super::cluster::Cluster;
use super::plan::NODES;

/// All rows of a node.
struct NodeRows<'a>(&'a StateDb);

impl Rows for NodeRows<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.0.get(key);
        row.map_err(|error| RowsError(error.to_string()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        let rows = self.0.scan(&KeyRange::new(from, to), limit);
        rows.map_err(|error| RowsError(error.to_string()))
    }
}

/// Invariants of one step that hold over many as well.
const FORWARD: [&str; 2] = ["I19", "I20"];

/// The rows of one shard of a node at one moment, as the machine's invariants read them: as if there were no others.
struct ShardRows {
    rows: Vec<Row>,
    /// Last hash of the range.
    last: u64,
}

/// The newest state that was seen of a shard while its range ended with some hash.
struct Newest {
    index: u64,
    view: Rc<View>,
}

impl ShardRows {
    /// Of the range that the shard's own row says it has: a split makes it smaller, and a child may live beside it.
    fn read(db: &StateDb, shard: ShardId) -> Result<Self, String> {
        let node = NodeRows(db);
        let range = Machine::stored_range(&node, shard).map_err(|error| error.to_string())?;
        let (first, last) = range.ok_or("it has no range")?;
        let mut rows = Vec::new();
        for (from, to) in machine::key_ranges(shard, first, last) {
            let found = node.scan(&from, &to, usize::MAX);
            rows.extend(found.map_err(|error| error.to_string())?);
        }
        Ok(Self { rows, last })
    }

    fn place(&self, key: &[u8]) -> usize {
        self.rows
            .partition_point(|(other, _)| other.as_slice() < key)
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rows.hash(&mut hasher);
        hasher.finish()
    }
}

impl Rows for ShardRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        let row = self.rows.get(self.place(key));
        Ok(row.filter(|row| row.0 == key).map(|row| row.1.clone()))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        let rows = self.rows.get(self.place(from)..self.place(to));
        Ok(rows
            .unwrap_or_default()
            .iter()
            .take(limit)
            .cloned()
            .collect())
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
    /// Term in which a node was seen to lead, by shard and node.
    leading: BTreeMap<(u64, u64), u64>,
    /// By shard and the last hash of its range.
    newest: BTreeMap<(u64, u64), Newest>,
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
