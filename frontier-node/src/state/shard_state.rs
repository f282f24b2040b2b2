//! Entries in, rows out: the state machine that the log calls on its own thread.

use std::sync::Arc;

use bytes::Bytes;
use machine::{Entry, Machine, Overlay, ShardId};
use parking_lot::Mutex;
use prost::Message;
use raftlog::{
    Applied, Committed, Founded, KeyRange, MachineError, RowBatch, StateDb, StateMachine,
};

use super::local_map::places;
use super::{LocalMap, MachineCell, ReplyBoard, StateRows};
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
    /// A test wants children to begin with less than their parent knows.
    pub(crate) children: Forgets,
    pub(crate) board: Arc<ReplyBoard>,
    /// What of the shard map is applied on the node.
    pub(crate) map: Arc<LocalMap>,
    /// A child's machine as its split left it, for the first instance of a group that was created just now: what a rebuild
    /// would give, without reading it.
    pub(crate) newborn: Arc<Mutex<Option<Machine>>>,
}

/// What children of splits are to forget, in a test.
#[derive(Clone, Copy, Default)]
pub(crate) struct Forgets {
    pub(crate) tokens: bool,
    pub(crate) contacts: bool,
}

impl Forgets {
    fn apply(self, child: &mut Machine) {
        if self.tokens {
            child.forget_tokens();
        }
        if self.contacts {
            child.forget_contacts();
        }
    }
}

/// One instance of a shard's state machine; made anew when its group is opened or reopened.
pub(crate) struct ShardState {
    parts: ShardParts,
    rows: StateRows,
    /// Between `apply` and `committed` the machine is here and nobody else sees it.
    working: Option<Working>,
    ranges: Vec<KeyRange>,
}

struct Working {
    machine: Machine,
    index: u64,
    /// Seeded by these entries, in order.
    children: Vec<Machine>,
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
        let newborn = self.parts.newborn.lock().take();
        let mut machine = match newborn {
            Some(machine) => machine,
            None => Machine::rebuild(&self.rows, ShardId(shard))
                .map_err(MachineError::new)?
                .ok_or_else(|| MachineError::new(format!("shard {shard} has no rows")))?,
        };
        if self.parts.forgets_tokens {
            machine.forget_tokens();
        }
        self.ranges = ranges_of(&machine);
        let places = places(&machine);
        self.parts.cell.put(machine, 0);
        self.parts.map.learn(places);
        Ok(())
    }

    fn apply_all(
        &self,
        machine: &mut Machine,
        entries: &[Committed<'_>],
        overlay: &mut Overlay,
    ) -> Result<Vec<Child>, MachineError> {
        let mut children = Vec::new();
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
            let seeded = machine.take_children().into_iter();
            children.extend(seeded.map(|mut machine| {
                self.parts.children.apply(&mut machine);
                Child {
                    machine,
                    index: committed.index,
                }
            }));
        }
        Ok(children)
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
        let children = self.apply_all(&mut machine, entries, &mut overlay)?;
        // Before the batch commits: a row that a reader can find is never absent from the filter.
        let written = overlay
            .changes()
            .filter(|(key, value)| value.is_some() && self.rows.is_seen_key(key));
        self.parts.filter.insert(written.map(|(key, _)| key));
        let index = entries.last().map_or(0, |last| last.index);
        let founded = children.iter().map(Child::founded).collect();
        self.working = Some(Working {
            machine,
            index,
            children: children.into_iter().map(|child| child.machine).collect(),
        });
        Ok(Applied {
            rows: batch(overlay),
            replies: vec![Bytes::new(); entries.len()],
            founded,
        })
    }

    fn committed(&mut self) {
        let Some(working) = self.working.take() else {
            return;
        };
        if working.children.is_empty() {
            return self.parts.cell.put(working.machine, working.index);
        }
        self.ranges = ranges_of(&working.machine);
        let places = places(&working.machine);
        self.parts.cell.put(working.machine, working.index);
        self.parts.map.seeded(&places, working.children);
    }

    fn restored(&mut self) -> Result<(), MachineError> {
        self.rebuild()
    }

    fn ranges(&self) -> Vec<KeyRange> {
        self.ranges.clone()
    }
}

/// A child that an entry seeded.
struct Child {
    machine: Machine,
    index: u64,
}

impl Child {
    fn founded(&self) -> Founded {
        Founded {
            group_id: self.machine.shard().0,
            index: self.index,
            ranges: ranges_of(&self.machine),
        }
    }
}

fn ranges_of(machine: &Machine) -> Vec<KeyRange> {
    let ranges = machine.key_ranges().into_iter();
    ranges.map(|(from, to)| KeyRange::new(from, to)).collect()
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
