//! `build`: the machine out of the rows, or why they contradict each other.

use super::{RestoreReply, Stage, apply::done, apply::refused};
use crate::{
    command::lease::LeaseKind,
    error::MachineError,
    keys,
    keys::meta::RestoreRow,
    machine::Machine,
    overlay::Overlay,
    rows::{Row, Rows, RowsError},
    step::Step,
};
use prost::Message;

/// Rows with the changes of this batch of entries.
struct Changed<'a> {
    rows: &'a dyn Rows,
    overlay: &'a Overlay,
}

impl Rows for Changed<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.overlay.get(self.rows, key)
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        self.overlay.scan(self.rows, from, to, limit)
    }
}

impl Step<'_> {
    pub(super) fn build(&mut self, restore: &RestoreRow) -> Result<RestoreReply, MachineError> {
        let row = RestoreRow {
            stage: Stage::Built as i32,
            ..*restore
        };
        let key = keys::meta::key(self.m.shard);
        let before = self.m.meta.encode_to_vec();
        self.m.meta.restore = Some(row);
        self.overlay.put(key.clone(), self.m.meta.encode_to_vec());
        let rows = Changed {
            rows: self.rows,
            overlay: self.overlay,
        };
        let built = match Machine::rebuild(&rows, self.m.shard) {
            Ok(Some(machine)) => machine.agrees_with_books().map(|()| machine),
            Ok(None) => Err("the shard has no rows".to_owned()),
            Err(MachineError::Rows(error)) => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        };
        match built {
            Ok(machine) => {
                *self.m = machine;
                Ok(done(&row, 0))
            }
            Err(reason) => {
                self.m.meta.restore = Some(*restore);
                self.overlay.put(key, before);
                Ok(refused(format!("the rows contradict each other: {reason}")))
            }
        }
    }
}

impl Machine {
    /// Host rows count what waits, in rows that are not read here; a batch that never came shows so.
    fn agrees_with_books(&self) -> Result<(), String> {
        let sum = |of: fn(&crate::state::Host) -> u32| -> u64 {
            let hosts = self.hosts.from(0);
            hosts.map(|(_, host)| u64::from(of(host))).sum()
        };
        let pages = self.leases.keys().filter(|k| k.kind() == LeaseKind::Page);
        let meta = &self.meta;
        for (name, books, hosts) in [
            ("queued", meta.queued, sum(|host| host.queued())),
            ("scheduled", meta.scheduled, sum(|host| host.scheduled)),
            ("leased", meta.leased, pages.count() as u64),
            ("outbox", meta.outbox_waiting, self.outbox.waiting()),
        ] {
            if books != hosts {
                return Err(format!("{books} rows {name}, hosts have {hosts}"));
            }
        }
        Ok(())
    }
}
