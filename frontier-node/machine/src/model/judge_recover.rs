//! Recoveries: every host waits as long as a lost lease may last, counters jump, known leases end a slice at a time.

use super::state::{Judged, Lease, Model, must};
use crate::{
    command::recover::{Recover, RecoverDone, RecoverReply},
    invariants::View,
    limits,
};

/// The longest lease: ten minutes.
const LONGEST_LEASE_MS: u64 = 600_000;

impl Model {
    pub fn judge_recover(
        &mut self,
        recover: &Recover,
        reply: &RecoverReply,
        after: &View,
    ) -> Judged {
        if recover.id == 0 {
            return must(*reply == RecoverReply::NoId, || {
                format!("no id, and {reply:?}")
            });
        }
        if self.recovery.is_none_or(|(id, _, _)| id != recover.id) {
            let until_ms = self.now_ms + LONGEST_LEASE_MS;
            let until_ms = until_ms.max(self.recovery.map_or(0, |(_, until_ms, _)| until_ms));
            self.recovery = Some((recover.id, until_ms, self.token));
            self.token += 1 << 32;
            for host in &mut self.hosts {
                host.last_contact_ms = host.last_contact_ms.max(Some(until_ms));
            }
        }
        let Some((_, until_ms, token)) = self.recovery else {
            return Err("no recovery".into());
        };
        let mut old: Vec<Lease> = self.leases.clone();
        old.retain(|lease| lease.token <= token);
        old.sort_by_key(|lease| lease.key);
        let left = old.len().saturating_sub(limits::LEASES_PER_RECOVERY);
        old.truncate(limits::LEASES_PER_RECOVERY);
        for lease in old {
            self.expire_one(lease, after)?;
        }
        let expected = RecoverReply::Done(RecoverDone {
            until_ms,
            leases_left: left as u64,
        });
        must(*reply == expected, || {
            format!("the recovery is {reply:?}, expected {expected:?}")
        })
    }
}
