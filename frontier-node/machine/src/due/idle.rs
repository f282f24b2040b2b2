//! Hosts that nothing refers to and whose clocks are past, and sessions that nobody can ask for, are forgotten.

use crate::{
    counters::Counter,
    error::MachineError,
    keys, limits,
    state::{Good, delay, hosts},
    step::Step,
};

impl Step<'_> {
    pub(crate) fn drop_idle_hosts(&mut self) -> Result<(), MachineError> {
        for _ in 0..limits::ENDINGS_PER_ENTRY {
            let Some(id) = self.m.index.idle_due(self.now_ms) else {
                break;
            };
            if !self.put_off(id)? {
                self.drop_host(id)?;
            }
        }
        Ok(())
    }

    /// Keeps a host whose last contact a crawl with a longer delay than it was left with would miss. The ordered set follows from
    /// host rows alone, so policies are looked at only now, and what they ask is noted in the row.
    fn put_off(&mut self, id: u64) -> Result<bool, MachineError> {
        let host = self.m.hosts.host(id)?;
        if !host.contacted {
            return Ok(false);
        }
        let longest_ms = delay::longest_delay_ms(host, &self.m.crawls);
        let until_ms = host.last_contact_ms.saturating_add(longest_ms);
        if until_ms <= self.now_ms {
            return Ok(false);
        }
        self.m.change(id, |host, _| host.kept_until_ms = until_ms)?;
        Ok(true)
    }

    fn drop_host(&mut self, id: u64) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        self.m.index.unlink(id, host);
        let host = self
            .m
            .hosts
            .remove(id)
            .ok_or(MachineError::Invariant("an idle host is not in memory"))?;
        self.m.changed.remove(&id);
        self.overlay
            .delete(keys::host::key(host.partition, &host.name));
        for (slot, known) in host.authorities.iter().enumerate() {
            self.overlay.delete(keys::robots::key(
                host.partition,
                &host.name,
                known.authority,
            ));
            if let Good::Rules(digest) = known.robots.good {
                self.unrefer(host.partition, &digest, hosts::robots_id(id, slot as u8))?;
            }
        }
        self.m.count(Counter::HostsDropped);
        self.m.add(Counter::DroppedDone, u64::from(host.done));
        Ok(())
    }

    pub(crate) fn expire_sessions(&mut self) {
        for _ in 0..limits::ENDINGS_PER_ENTRY {
            let Some((_, session)) = self
                .m
                .sessions
                .first()
                .filter(|(expires_ms, _)| *expires_ms <= self.now_ms)
            else {
                break;
            };
            self.m.sessions.remove(&session);
            self.overlay
                .delete(keys::session::key(self.m.shard, &session));
        }
    }
}
