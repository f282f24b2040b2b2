//! The same number again: what of its grants is still leased under the same token.

use super::Lease;
use crate::{
    error::MachineError,
    keys::{self, lease::LeaseRow, session::SessionRow},
    state::sessions::SessionId,
    step::Step,
};

impl Step<'_> {
    pub(super) fn repeat(&self, session: &SessionId) -> Result<Vec<Lease>, MachineError> {
        let key = keys::session::key(self.m.shard, session);
        let row: SessionRow = self
            .read(keys::session::SPACE, &key)?
            .ok_or(MachineError::Invariant("a session has no row"))?;
        let mut leases = Vec::with_capacity(row.grants.len());
        for grant in row.grants {
            if self
                .m
                .leases
                .get(grant.key)
                .is_none_or(|entry| entry.token != grant.token)
            {
                continue;
            }
            let row: Option<LeaseRow> =
                self.read(keys::lease::SPACE, &keys::lease::key(grant.key))?;
            leases.push(self.lease_of(&row.ok_or(MachineError::Invariant("a lease has no row"))?)?);
        }
        Ok(leases)
    }
}
