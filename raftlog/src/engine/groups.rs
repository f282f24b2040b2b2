//! Opening groups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;

use super::Engine;
use crate::errors::{GroupError, StopReason};
use crate::group::{Group, GroupSlot, open_instance, serve_reads, supervise};
use crate::ids::GroupId;
use crate::limits::MAX_WAITING_READS;
use crate::machine::MachineFactory;

impl Engine {
    /// Opens a group that was created here: makes its machine, applies again what is committed but was not flushed,
    /// and takes part. `factory` is called again if the group must be reopened after a disk failure.
    ///
    /// # Errors
    ///
    /// See [`GroupError`].
    pub async fn open_group(
        &self,
        group_id: GroupId,
        factory: MachineFactory,
    ) -> Result<Group, GroupError> {
        if let Some(reason) = self.shared.health.failure() {
            return Err(GroupError::Stopped(reason));
        }
        let replica = self.shared.replica_of(group_id).await?;
        let (reads, waiting) = mpsc::channel(MAX_WAITING_READS);
        let slot = Arc::new(GroupSlot::new(group_id, replica, factory, reads));
        self.take_slot(&slot)?;
        match open_instance(&slot, &self.shared).await {
            Ok(running) => {
                slot.set_running(running.clone());
                tokio::spawn(serve_reads(
                    Arc::clone(&slot),
                    Arc::clone(&self.shared),
                    waiting,
                ));
                tokio::spawn(supervise(
                    Arc::clone(&slot),
                    Arc::clone(&self.shared),
                    running,
                ));
                Ok(Group {
                    slot,
                    shared: Arc::clone(&self.shared),
                })
            }
            Err(error) => {
                slot.set_busy(false);
                slot.ended.send_replace(true);
                self.shared.forget(&slot);
                Err(error)
            }
        }
    }

    /// A group whose machine failed does not keep its place: it may be opened again.
    fn take_slot(&self, slot: &Arc<GroupSlot>) -> Result<(), GroupError> {
        let mut slots = self.shared.slots.lock();
        if self.shared.closing.load(Ordering::SeqCst) {
            return Err(GroupError::Stopped(StopReason::Shutdown));
        }
        if slots
            .get(&slot.group_id)
            .is_some_and(|known| !*known.ended.borrow())
        {
            return Err(GroupError::AlreadyOpen(slot.group_id));
        }
        slots.insert(slot.group_id, Arc::clone(slot));
        Ok(())
    }

    /// The open group of an id.
    pub fn group(&self, group_id: GroupId) -> Option<Group> {
        let slot = self.shared.slot(group_id)?;
        Some(Group {
            slot,
            shared: Arc::clone(&self.shared),
        })
    }
}
