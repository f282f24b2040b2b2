//! Commands in, rows out: the state machine of group 0.

use std::sync::Arc;

use raftlog::{Applied, Committed, KeyRange, MachineError, RowBatch, StateDb, StateMachine};
use shard_map::{Command, ShardMap};

use super::map_cell::MapCell;
use super::verdict;

/// The byte with which its rows begin; no key space of the machine has it.
pub(super) const TAG: u8 = b'G';
/// The row that holds the map.
pub(super) const MAP_KEY: [u8; 2] = [TAG, 1];

/// One instance of group 0's state machine; made anew when the group is opened or reopened.
pub(super) struct MapState {
    db: StateDb,
    cell: Arc<MapCell>,
    map: ShardMap,
    applied_index: u64,
}

impl MapState {
    /// Reads the map and publishes it.
    pub(super) fn open(db: StateDb, cell: Arc<MapCell>) -> Result<Self, MachineError> {
        let mut state = Self {
            db,
            cell,
            map: ShardMap::default(),
            applied_index: 0,
        };
        state.read()?;
        Ok(state)
    }

    fn read(&mut self) -> Result<(), MachineError> {
        let row = self.db.get(&MAP_KEY).map_err(MachineError::new)?;
        let row = row.ok_or_else(|| MachineError::new("group 0 has no rows"))?;
        self.map = ShardMap::from_bytes(&row).map_err(MachineError::new)?;
        self.applied_index = 0;
        self.cell.put(&self.map, 0);
        Ok(())
    }
}

impl StateMachine for MapState {
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        let (mut replies, mut is_changed) = (Vec::with_capacity(entries.len()), false);
        for entry in entries {
            let command = Command::from_bytes(entry.payload).map_err(|error| {
                MachineError::new(format!("entry {} of group 0: {error}", entry.index))
            })?;
            let result = shard_map::apply(&mut self.map, &command);
            is_changed |= result.as_ref().is_ok_and(|accepted| accepted.changed);
            replies.push(verdict::encode(result));
            self.applied_index = entry.index;
        }
        let mut rows = RowBatch::new();
        if is_changed {
            rows.put(MAP_KEY, self.map.to_bytes());
        }
        Ok(Applied {
            rows,
            replies,
            ..Applied::default()
        })
    }

    fn committed(&mut self) {
        self.cell.put(&self.map, self.applied_index);
    }

    fn restored(&mut self) -> Result<(), MachineError> {
        self.read()
    }

    fn ranges(&self) -> Vec<KeyRange> {
        vec![KeyRange::prefix(&[TAG])]
    }
}

/// The first row: a map that is not founded. The same on every founding node.
pub(super) fn initial_rows() -> RowBatch {
    let mut rows = RowBatch::new();
    rows.put(MAP_KEY, ShardMap::default().to_bytes());
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use machine::{Machine, Overlay, ShardId};

    /// An install of a shard's snapshot deletes its ranges, and so does one of group 0.
    #[test]
    fn its_rows_are_in_no_shards_ranges() {
        let mut overlay = Overlay::default();
        let shard = Machine::create(ShardId(1), 0, u64::MAX, &mut overlay);
        let own = KeyRange::prefix(&[TAG]);
        for (from, to) in shard.key_ranges() {
            let is_below = to.as_slice() <= own.start.as_slice();
            let is_above = own.end.as_ref().is_some_and(|end| from >= *end);
            assert!(is_below || is_above, "{from:?} to {to:?}");
        }
        assert!(own.contains(&MAP_KEY));
    }
}
