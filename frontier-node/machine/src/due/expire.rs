//! Leases whose time is up.

use crate::{
    command::lease::{LeaseKey, LeaseKind},
    command::report::conclude::{Next, attempt},
    counters::Counter,
    error::MachineError,
    keys::{self, errand::ErrandRow, lease::LeaseRow},
    limits,
    state::delay,
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn expire_leases(&mut self) -> Result<(), MachineError> {
        for _ in 0..limits::EXPIRIES_PER_ENTRY {
            let Some((_, key)) = self
                .m
                .leases
                .first()
                .filter(|(deadline_ms, _)| *deadline_ms <= self.now_ms)
            else {
                break;
            };
            self.expire(key)?;
        }
        Ok(())
    }

    /// Ends a lease whose time is up, or whose holder is not to be waited for: as an attempt that failed.
    pub(crate) fn expire(&mut self, key: LeaseKey) -> Result<(), MachineError> {
        let (id, lease) = self.leased(key)?;
        self.m.count(Counter::Expired);
        // The request may have gone out until the last moment.
        self.m.change(id, |host, crawls| {
            host.in_flight = false;
            host.last_contact_ms = host.last_contact_ms.max(lease.deadline_ms);
            host.contacted = true;
            host.delay_ms = delay::delay_ms(host, crawls, Some(lease.crawl));
        })?;
        match key.kind() {
            LeaseKind::Page => {
                let mut url = self.leased_url(key, &lease)?;
                url.lost_leases = url.lost_leases.saturating_add(1);
                let policy = self.m.policy(lease.crawl);
                let next = attempt(&mut url, policy.max_attempts).unwrap_or(Next::Requeue {
                    due_ms: self.now_ms,
                });
                self.conclude_page(id, key, &lease, url, next)
            }
            // It says nothing of the host: what is known of its robots stays, and they may be asked again at once.
            LeaseKind::Robots => {
                self.end_lease(key);
                Ok(())
            }
            LeaseKind::Errand => self.expire_errand(id, key, &lease),
        }
    }

    fn expire_errand(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
    ) -> Result<(), MachineError> {
        self.end_lease(key);
        let row_key = keys::errand::key(key.partition, &lease.host, key.fingerprint);
        let Some(mut row) = self.read::<ErrandRow>(keys::errand::SPACE, &row_key)? else {
            return Err(MachineError::Invariant("a leased errand has no row"));
        };
        row.expiries += 1;
        if row.expiries < limits::ERRAND_EXPIRIES {
            self.overlay.put(row_key, row.encode_to_vec());
            return Ok(());
        }
        self.m.count(Counter::ErrandsDropped);
        self.drop_errand(id, row_key)
    }
}
