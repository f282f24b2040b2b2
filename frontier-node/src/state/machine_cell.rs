//! Who may look at a machine when.
//!
//! The applying thread takes the machine out before it applies entries and puts it back when their rows are committed, so
//! nobody ever sees a machine that is ahead of its rows. Readers wait meanwhile, for the time of one batch.

use std::time::{Duration, Instant};

use machine::Machine;
use machine::command::lease::ReadySummary;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::Extent;

/// What everybody may know of a shard without waiting: published after each commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    /// Log index of the last entry applied by this instance; 0 before the first.
    pub(crate) applied_index: u64,
    /// The shard's range after the last entry; `None` before there is a machine. It only shrinks.
    pub(crate) extent: Option<Extent>,
    /// Shard time of the last entry.
    pub(crate) now_ms: u64,
    /// Shard time from which the next host may be leased; a past time means now. `None`: none waits for time.
    pub(crate) next_ready_ms: Option<u64>,
    /// Shard time at which the next entry has something to do that is not asked for: expiries and the like.
    pub(crate) next_due_ms: Option<u64>,
    /// Unix ms of the next revisit or budget cycle.
    pub(crate) next_wall_unix_ms: Option<u64>,
    /// What was ready at that entry.
    pub(crate) ready: ReadySummary,
    /// Page stores that are lost for good; nearly always none.
    pub(crate) dead_stores: Vec<u32>,
}

/// The machine could not be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shard is busy, stopped or still being fed")]
pub(crate) struct CellError;

/// The place where a shard's machine is while no entry is being applied.
pub(crate) struct MachineCell {
    slot: Mutex<Slot>,
    back: Condvar,
    published: watch::Sender<Published>,
}

#[derive(Default)]
struct Slot {
    machine: Option<Machine>,
    applied_index: u64,
    /// There was a machine: if it is away, it comes back after one batch. A replica that is still being fed has none.
    is_made: bool,
}

impl Default for MachineCell {
    fn default() -> Self {
        Self {
            slot: Mutex::default(),
            back: Condvar::new(),
            published: watch::Sender::new(Published::default()),
        }
    }
}

impl MachineCell {
    /// Takes the machine out, for the applying thread.
    pub(crate) fn take(&self) -> Option<Machine> {
        self.slot.lock().machine.take()
    }

    /// Puts a machine in whose rows are committed, and publishes it.
    pub(crate) fn put(&self, machine: Machine, applied_index: u64) {
        let published = publish(&machine, applied_index);
        {
            let mut slot = self.slot.lock();
            slot.machine = Some(machine);
            slot.is_made = true;
            slot.applied_index = applied_index;
        }
        self.back.notify_all();
        self.published.send_replace(published);
    }

    /// Looks at the machine and its applied index. Blocking; waits at most `longest` for it to come back.
    pub(crate) fn look<R>(
        &self,
        longest: Duration,
        look: impl FnOnce(&Machine, u64) -> R,
    ) -> Result<R, CellError> {
        let deadline = Instant::now() + longest;
        let mut slot = self.slot.lock();
        while slot.machine.is_none() {
            if !slot.is_made || self.back.wait_until(&mut slot, deadline).timed_out() {
                return Err(CellError);
            }
        }
        let applied_index = slot.applied_index;
        slot.machine
            .as_ref()
            .map(|machine| look(machine, applied_index))
            .ok_or(CellError)
    }

    /// The shard's range as it was published last.
    pub(crate) fn extent(&self) -> Option<Extent> {
        self.published.borrow().extent
    }

    /// What was published last, and each change of it.
    pub(crate) fn published(&self) -> watch::Receiver<Published> {
        self.published.subscribe()
    }
}

fn publish(machine: &Machine, applied_index: u64) -> Published {
    Published {
        applied_index,
        extent: Some(Extent::of(machine)),
        now_ms: machine.now_ms(),
        next_ready_ms: machine.next_ready_ms(),
        next_due_ms: machine.next_tick_ms(),
        next_wall_unix_ms: machine.next_wall_due_unix_ms(),
        ready: machine.ready_summary(),
        dead_stores: machine.dead_stores().to_vec(),
    }
}
