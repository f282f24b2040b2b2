//! Applying `recover`.

use super::{Recover, RecoverDone, RecoverReply};
use crate::{
    command::lease::LeaseKey, counters::Counter, error::MachineError, keys::meta::RecoveryRow,
    limits, machine::Machine, state::Index, step::Step,
};

impl Step<'_> {
    pub(crate) fn recover(&mut self, recover: &Recover) -> Result<RecoverReply, MachineError> {
        if recover.id == 0 {
            return Ok(RecoverReply::NoId);
        }
        let recovery = match self.m.meta.recovery {
            Some(recovery) if recovery.id == recover.id => recovery,
            _ => self.m.begin_recovery(recover.id),
        };
        let old = self.m.leases.up_to(recovery.token);
        let keys: Vec<LeaseKey> = old.take(limits::LEASES_PER_RECOVERY).collect();
        for key in keys {
            self.expire(key)?;
        }
        Ok(RecoverReply::Done(RecoverDone {
            until_ms: recovery.until_ms,
            leases_left: self.m.leases.up_to(recovery.token).count() as u64,
        }))
    }
}

impl Machine {
    /// Sets every clock as late as any lost lease can reach.
    pub(crate) fn begin_recovery(&mut self, id: u64) -> RecoveryRow {
        let reach_ms = self.meta.now_ms.saturating_add(limits::LEASE_TTL_MS.1);
        let before = self.meta.recovery.map_or(0, |recovery| recovery.until_ms);
        let recovery = RecoveryRow {
            id,
            until_ms: reach_ms.max(before),
            token: self.meta.token,
        };
        self.meta.recovery = Some(recovery);
        self.meta.token = self.meta.token.saturating_add(limits::RECOVERY_JUMP);
        let sequence = &mut self.meta.outbox_sequence;
        *sequence = sequence.saturating_add(limits::RECOVERY_JUMP);
        self.raise_contacts();
        self.index = Index::of(&mut self.hosts);
        self.count(Counter::Recoveries);
        recovery
    }

    /// No host was contacted last before the newest recovery says. The ordered sets are to be made anew.
    pub(crate) fn raise_contacts(&mut self) {
        let Some(recovery) = self.meta.recovery else {
            return;
        };
        for (_, host) in self.hosts.iter_mut() {
            host.raise_contact(recovery.until_ms);
        }
    }
}
