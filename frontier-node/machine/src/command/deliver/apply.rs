//! Applying `deliver`. A row that is gone was delivered before: nothing happens.

use super::Deliver;
use crate::{error::MachineError, keys, step::Step};

impl Step<'_> {
    pub(crate) fn deliver(&mut self, batch: &Deliver) -> Result<u64, MachineError> {
        let mut delivered = 0;
        for key in &batch.keys {
            let ours = keys::outbox::partition(key).filter(|partition| self.m.holds(*partition));
            if let Some(partition) = ours
                && self.overlay.get(self.rows, key)?.is_some()
            {
                self.overlay.delete(key.clone());
                self.m.outbox.take(partition);
                delivered += 1;
            }
        }
        self.m.meta.outbox_waiting -= delivered;
        self.m.meta.outbox_delivered += delivered;
        Ok(delivered)
    }
}
