//! When there is something to do: for a node that ticks and for calls that wait.

use crate::machine::Machine;

impl Machine {
    /// Earliest shard time at which an entry does something or a host is ready; `None` = nothing waits for shard time.
    /// May lie in the past: then it is due now. Wall-time work is told by [`Machine::is_wall_due`].
    pub fn next_due_ms(&self) -> Option<u64> {
        self.next_tick_ms()
            .into_iter()
            .chain(self.next_ready_ms())
            .min()
    }

    /// Earliest shard time at which an empty entry does something: a lease or session expires, a host is forgotten, URLs end.
    pub fn next_tick_ms(&self) -> Option<u64> {
        let ending = self.index.next_ending().or(self.index.next_aliased());
        let ending = ending.map(|_| self.meta.now_ms);
        let lease = self.leases.first().map(|(deadline_ms, _)| deadline_ms);
        let session = self.sessions.first().map(|(expires_ms, _)| expires_ms);
        [ending, lease, session, self.index.next_idle_ms()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Earliest shard time from which a host can be ready.
    pub fn next_ready_ms(&self) -> Option<u64> {
        self.index.next_ready_ms(|crawl| self.is_live(crawl))
    }

    /// Whether an entry with that wall stamp has due visits to promote or budget waits to end.
    pub fn is_wall_due(&self, wall_unix_ms: u64) -> bool {
        self.index
            .wall_due(wall_unix_ms, &self.longest_wall_waits())
            .is_some()
    }

    /// Unix ms of the earliest due visit, end of a budget wait or end of an idle host's last wall clock.
    pub fn next_wall_due_unix_ms(&self) -> Option<u64> {
        self.index.next_wall_unix_ms()
    }
}
