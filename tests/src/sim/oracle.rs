//! What clients were promised, and whether a new answer is at odds with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use proto::frontier_v1 as pb;

use super::trace::Trace;

/// A lease's identity without its token: kind, partition, fingerprint.
type Key = (i32, u64, u64);

/// Whom a token was given to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    key: Key,
    session: u64,
}

#[derive(Default)]
struct Promises {
    /// URLs that were answered "new" or "known", or taken with a report that closed.
    accepted: BTreeSet<String>,
    /// By shard and token.
    grants: BTreeMap<(u64, u64), Grant>,
    /// URLs whose report of a stored page was taken.
    done: BTreeSet<String>,
    leases: u64,
    lost: u64,
}

/// The oracle of one run.
pub(super) struct Oracle {
    trace: Arc<Trace>,
    promises: Mutex<Promises>,
}

impl Oracle {
    pub(super) fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            promises: Mutex::default(),
        }
    }

    /// A URL must be in the frontier from now on.
    pub(super) fn accepted(&self, url: &str) {
        self.promises
            .lock()
            .unwrap()
            .accepted
            .insert(url.to_owned());
    }

    /// A lease was granted: no token twice, in one shard.
    pub(super) fn granted(&self, shard: u64, lease: &pb::Lease, session: u64) {
        let key = lease.key.unwrap_or_default();
        let grant = Grant {
            key: (key.kind, key.partition, key.fingerprint),
            session,
        };
        let mut promises = self.promises.lock().unwrap();
        promises.leases += 1;
        let place = (shard, lease.token);
        let old = promises
            .grants
            .entry(place)
            .or_insert_with(|| grant.clone());
        if *old != grant {
            self.trace.violation(format!(
                "shard {shard} gave token {} twice: {old:?}, then {grant:?}",
                lease.token
            ));
        }
    }

    /// A report of a stored page was taken.
    pub(super) fn closed(&self, url: &str) {
        self.promises.lock().unwrap().done.insert(url.to_owned());
    }

    /// A report was refused since the lease is another's by now.
    pub(super) fn lost(&self) {
        self.promises.lock().unwrap().lost += 1;
    }

    /// All that was promised to be in the frontier.
    pub(super) fn all_accepted(&self) -> Vec<String> {
        self.promises
            .lock()
            .unwrap()
            .accepted
            .iter()
            .cloned()
            .collect()
    }

    /// Whether a stored page of the URL was taken.
    pub(super) fn is_done(&self, url: &str) -> bool {
        self.promises.lock().unwrap().done.contains(url)
    }

    /// Leases seen, and reports refused as lost.
    pub(super) fn totals(&self) -> (u64, u64) {
        let promises = self.promises.lock().unwrap();
        (promises.leases, promises.lost)
    }
}
