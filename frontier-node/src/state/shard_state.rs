//! Entries in, rows out: the state machine that the log calls on its own thread.

use std::sync::Arc;

use bytes::Bytes;
use machine::{Entry, Machine, Overlay, ShardId};
use prost::Message;
use raftlog::{Applied, Committed, KeyRange, MachineError, RowBatch, StateDb, StateMachine};

use super::{MachineCell, ReplyBoard, StateRows};
use crate::identity::ShardRange;
use crate::known::KnownFilter;

/// What the state machine of a shard shares with the rest of the node. Outlives each instance of the state machine.
#[derive(Clone)]
pub(crate) struct ShardParts {
    pub(crate) shard: u64,
    pub(crate) db: StateDb,
    pub(crate) filter: Arc<KnownFilter>,
    pub(crate) cell: Arc<MachineCell>,
    /// A test wants tokens to begin anew with each instance.
    pub(crate) forgets_tokens: bool,
    pub(crate) board: Arc<ReplyBoard>,
}

/// One instance of a shard's state machine; made anew when its group is opened or reopened.
pub(crate) struct ShardState {
    parts: ShardParts,
    rows: StateRows,
    /// Between `apply` and `committed` the machine is here and nobody else sees it.
    working: Option<(Machine, u64)>,
    ranges: Vec<KeyRange>,
}

impl ShardState {
    /// Builds the machine from rows and publishes it.
    pub(crate) fn open(parts: ShardParts) -> Result<Self, MachineError> {
        let rows = StateRows::new(parts.db.clone(), Arc::clone(&parts.filter), parts.shard);
        let mut state = Self {
            parts,
            rows,
            working: None,
            ranges: Vec::new(),
        };
        state.rebuild()?;
        Ok(state)
    }

    /// Whatever was in memory is replaced by what the rows say; the filter must be filled again.
    fn rebuild(&mut self) -> Result<(), MachineError> {
        let shard = self.parts.shard;
        self.parts.filter.invalidate(shard);
        self.working = None;
        let machine = Machine::rebuild(&self.rows, ShardId(shard)).map_err(MachineError::new)?;
        let mut machine =
            machine.ok_or_else(|| MachineError::new(format!("shard {shard} has no rows")))?;
        if self.parts.forgets_tokens {
            machine.forget_tokens();
        }
        self.ranges = machine
            .key_ranges()
            .into_iter()
            .map(|(from, to)| KeyRange::new(from, to))
            .collect();
        self.parts.cell.put(machine, 0);
        Ok(())
    }

    fn apply_all(
        &self,
        machine: &mut Machine,
        entries: &[Committed<'_>],
        overlay: &mut Overlay,
    ) -> Result<(), MachineError> {
        for committed in entries {
            let entry = Entry::decode(committed.payload.as_ref()).map_err(|error| {
                MachineError::new(format!(
                    "entry {} does not decode: {error}",
                    committed.index
                ))
            })?;
            let reply = machine
                .apply(&self.rows, &entry, overlay)
                .map_err(MachineError::new)?;
            self.parts.board.put(committed.index, reply);
        }
        Ok(())
    }
}

impl StateMachine for ShardState {
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        let mut machine = self
            .parts
            .cell
            .take()
            .ok_or_else(|| MachineError::new("the machine is not there"))?;
        let mut overlay = Overlay::default();
        self.apply_all(&mut machine, entries, &mut overlay)?;
        // Before the batch commits: a row that a reader can find is never absent from the filter.
        let written = overlay
            .changes()
            .filter(|(key, value)| value.is_some() && self.rows.is_seen_key(key));
        self.parts.filter.insert(written.map(|(key, _)| key));
        let index = entries.last().map_or(0, |last| last.index);
        self.working = Some((machine, index));
        Ok(Applied {
            rows: batch(overlay),
            replies: vec![Bytes::new(); entries.len()],
        })
    }

    fn committed(&mut self) {
        if let Some((machine, index)) = self.working.take() {
            self.parts.cell.put(machine, index);
        }
    }

    fn restored(&mut self) -> Result<(), MachineError> {
        self.rebuild()
    }

    fn ranges(&self) -> Vec<KeyRange> {
        self.ranges.clone()
    }
}

/// The first rows of a new shard.
pub(crate) fn initial_rows(range: &ShardRange) -> RowBatch {
    let mut overlay = Overlay::default();
    Machine::create(ShardId(range.shard), range.first, range.last, &mut overlay);
    batch(overlay)
}

fn batch(mut overlay: Overlay) -> RowBatch {
    let mut rows = RowBatch::new();
    for (key, value) in overlay.drain() {
        match value {
            Some(value) => rows.put(key, value),
            None => rows.delete(key),
        }
    }
    rows
}
