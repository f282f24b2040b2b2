//! The engine: a node's two databases, its threads, and its groups.

mod children;
mod close;
mod creating;
mod descriptors;
mod groups;
mod open;
mod receive;
mod removal;
mod sole_voter;
mod whole;

pub use children::ChildGroup;
pub(crate) use receive::check_target;
pub use sole_voter::SoleVoter;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use rocksdb::{Cache, DB};
use tokio::sync::Semaphore;

use crate::db_cell::DbCell;
use crate::errors::StateError;
use crate::fault::{DiskStep, Rule};
use crate::flusher::Flusher;
use crate::group::GroupSlot;
use crate::health::Health;
use crate::ids::GroupId;
use crate::lanes::Lanes;
use crate::log::Syncer;
use crate::metrics::{Counters, EngineMetrics};
use crate::options::EngineOptions;
use crate::state::StateDb;
use crate::transport::Transport;

/// All groups of a node over one log and one state database. One per directory, held by a lock.
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// In place of threads, where work is done on the spot.
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

/// What groups and threads share.
pub(crate) struct Shared {
    pub(crate) options: EngineOptions,
    pub(crate) raft_config: Arc<openraft::Config>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) log_cell: Arc<DbCell>,
    pub(crate) state_cell: Arc<DbCell>,
    pub(crate) state_cache: Cache,
    pub(crate) syncer: Arc<Syncer>,
    pub(crate) flusher: Flusher,
    pub(crate) apply_lanes: Lanes,
    pub(crate) read_lanes: Arc<Lanes>,
    pub(crate) health: Health,
    pub(crate) counters: Arc<Counters>,
    pub(crate) staged: AtomicU64,
    /// Outgoing snapshots, all groups together.
    pub(crate) snapshot_sends: Arc<Semaphore>,
    pub(crate) closing: AtomicBool,
    /// The same, for a thread that sleeps.
    pub(crate) closed: Mutex<bool>,
    pub(crate) closed_changed: Condvar,
    slots: Mutex<BTreeMap<GroupId, Arc<GroupSlot>>>,
    /// Held while a replica is made or removed: each looks at what is there, then writes.
    making: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Asks the fault hook about a step.
    pub(crate) fn before(&self, step: DiskStep) -> io::Result<()> {
        self.options
            .faults
            .as_ref()
            .map_or(Ok(()), |faults| faults.before(step))
    }

    /// Whether a test switched a rule off.
    pub(crate) fn is_off(&self, rule: Rule) -> bool {
        self.options
            .faults
            .as_ref()
            .is_some_and(|faults| faults.is_off(rule))
    }

    /// Flushes the state database; everything written before is on disk afterwards.
    pub(crate) fn flush_state(&self, db: &DB) -> Result<(), StateError> {
        self.before(DiskStep::StateFlush)
            .map_err(|error| StateError::Db(error.to_string()))?;
        db.flush()
            .map_err(|error| StateError::Db(error.to_string()))
    }

    /// The open groups.
    pub(crate) fn slots(&self) -> Vec<Arc<GroupSlot>> {
        self.slots.lock().values().cloned().collect()
    }

    /// The open group of an id.
    pub(crate) fn slot(&self, group_id: GroupId) -> Option<Arc<GroupSlot>> {
        self.slots.lock().get(&group_id).cloned()
    }

    /// A group has ended.
    pub(crate) fn forget(&self, slot: &Arc<GroupSlot>) {
        let mut slots = self.slots.lock();
        if slots
            .get(&slot.group_id)
            .is_some_and(|known| Arc::ptr_eq(known, slot))
        {
            slots.remove(&slot.group_id);
        }
    }

    /// Directory for snapshots on their way in.
    pub(crate) fn staging_dir(&self) -> PathBuf {
        self.options.dir.join("staging")
    }
}

impl Engine {
    /// Read access to rows.
    pub fn state(&self) -> StateDb {
        StateDb {
            cell: Arc::clone(&self.shared.state_cell),
        }
    }

    /// The counters now.
    pub fn metrics(&self) -> EngineMetrics {
        self.shared.counters.read()
    }

    /// Why the disk does not work, if it does not.
    pub fn failure(&self) -> Option<crate::StopReason> {
        self.shared.health.failure()
    }

    /// Whether nothing is accepted because there is too little space on the device.
    pub fn is_disk_full(&self) -> bool {
        let failure = self.shared.health.failure();
        self.shared.health.is_low_on_space()
            || matches!(failure, Some(crate::StopReason::DiskFull(_)))
    }

    /// The options it was opened with.
    pub fn options(&self) -> &EngineOptions {
        &self.shared.options
    }
}
