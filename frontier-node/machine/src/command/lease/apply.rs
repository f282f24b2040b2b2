//! Applying `lease`: check and grant in one step, and the same answer to the same number.

use super::{LeaseCall, LeaseReply, ReadySummary};
use crate::{
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        session::{GrantRow, SessionRow},
    },
    limits,
    machine::Machine,
    state::sessions::SessionId,
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn lease(&mut self, call: &LeaseCall) -> Result<LeaseReply, MachineError> {
        let (Ok(session), 1..) = (SessionId::try_from(call.session.as_slice()), call.number) else {
            return Ok(LeaseReply::Malformed);
        };
        match self.m.sessions.number(&session) {
            Some(newest) if newest > call.number => {
                self.m.count(Counter::LeaseStale);
                return Ok(LeaseReply::Stale { newest });
            }
            Some(newest) if newest == call.number => {
                self.m.count(Counter::LeaseRepeated);
                let leases = self.repeat(&session)?;
                return Ok(self.granted(leases, true));
            }
            _ => {}
        }
        let leases = self.grant_up_to(call.max_leases.min(limits::LEASES_PER_CALL), call.ttl_ms)?;
        self.remember(session, call.number, &leases);
        Ok(self.granted(leases, false))
    }

    fn grant_up_to(&mut self, most: u32, ttl_ms: u64) -> Result<Vec<super::Lease>, MachineError> {
        let ttl_ms = ttl_ms.clamp(limits::LEASE_TTL_MS.0, limits::LEASE_TTL_MS.1);
        let most = most as usize;
        let mut leases = Vec::new();
        // A host that turns out not to be ready moves back in its set, so each is looked at once a call.
        let mut looks = most * 2 + limits::HOSTS_LOOKED_AT;
        while leases.len() < most && looks > 0 {
            looks -= 1;
            let fair = (self.m.meta.token + 1).is_multiple_of(limits::FAIR_GRANT_EVERY);
            let Some(id) = self
                .m
                .index
                .pick(self.now_ms, fair, |crawl| self.m.is_live(crawl))
            else {
                break;
            };
            leases.extend(self.grant(id, ttl_ms)?);
        }
        Ok(leases)
    }

    /// The answer may be asked for again until the last lease of it can be out.
    fn remember(&mut self, session: SessionId, number: u64, leases: &[super::Lease]) {
        let is_new = self.m.sessions.number(&session).is_none();
        if is_new
            && self.m.sessions.len() >= limits::SESSIONS
            && let Some((_, oldest)) = self.m.sessions.first()
        {
            self.m.sessions.remove(&oldest);
            self.overlay
                .delete(keys::session::key(self.m.shard, &oldest));
        }
        let expires_ms = self.now_ms.saturating_add(limits::LEASE_TTL_MS.1);
        self.m.sessions.put(session, number, expires_ms);
        let grants = leases
            .iter()
            .map(|lease| GrantRow {
                key: lease.key,
                token: lease.token,
            })
            .collect();
        let row = SessionRow {
            number,
            expires_ms,
            grants,
        };
        self.overlay.put(
            keys::session::key(self.m.shard, &session),
            row.encode_to_vec(),
        );
    }

    fn granted(&self, leases: Vec<super::Lease>, repeated: bool) -> LeaseReply {
        let next_ready_in_ms = self
            .m
            .next_ready_ms()
            .map(|at_ms| at_ms.saturating_sub(self.now_ms));
        LeaseReply::Granted {
            leases,
            repeated,
            ready: self.m.ready_summary(),
            next_ready_in_ms,
        }
    }
}

impl Machine {
    /// What waits ready at the shard time of the last entry. Hosts of a crawl and class are counted up to
    /// [`limits::READY_COUNTED`], so that a summary costs the same in a shard of any size.
    pub fn ready_summary(&self) -> ReadySummary {
        let now_ms = self.meta.now_ms;
        let (by_class, oldest_ms) =
            self.index
                .ready_by_class(now_ms, limits::READY_COUNTED, |crawl| self.is_live(crawl));
        ReadySummary {
            by_class,
            oldest_ready_ms: oldest_ms.map_or(0, |at_ms| now_ms.saturating_sub(at_ms)),
            queued: self.meta.queued,
            leased: self.leases.len() as u64,
        }
    }
}
