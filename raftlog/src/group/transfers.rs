//! Snapshots that are on their way from this replica, so that the log behind them is not purged meanwhile.
//!
//! A replica that has installed a snapshot goes on by log from there. If that part of the log were purged while the
//! snapshot travelled, it would need another one, and so on for ever.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::ids::NodeId;
use crate::status::Progress;

struct Transfer {
    number: u64,
    /// Where the log behind the snapshot begins.
    snapshot_index: u64,
    /// It has arrived, and its receiver is catching up by log.
    has_arrived: bool,
}

#[derive(Default)]
struct Known {
    begun: u64,
    by_node: BTreeMap<NodeId, Transfer>,
}

/// One group's outgoing snapshots, at most one a receiver.
#[derive(Default)]
pub(crate) struct Transfers {
    known: Mutex<Known>,
}

impl Transfers {
    /// A snapshot of everything up to `snapshot_index` is about to be sent.
    pub(crate) fn begin(self: &Arc<Self>, to: NodeId, snapshot_index: u64) -> Underway {
        let mut known = self.known.lock();
        known.begun += 1;
        let number = known.begun;
        let transfer = Transfer {
            number,
            snapshot_index,
            has_arrived: false,
        };
        known.by_node.insert(to, transfer);
        Underway {
            transfers: Arc::clone(self),
            to,
            number,
        }
    }

    /// The index up to which entries are of no use to any receiver; none if there are no receivers. Those that have
    /// caught up to `caught_up_index` by log, and those that are gone, need nothing any more.
    pub(crate) fn needed(
        &self,
        progress: &BTreeMap<NodeId, Progress>,
        caught_up_index: u64,
        is_live: impl Fn(&Progress) -> bool,
    ) -> Option<u64> {
        let mut known = self.known.lock();
        known.by_node.retain(|node_id, transfer| {
            let receiver = progress.get(node_id);
            let is_catching_up = receiver.is_some_and(|receiver| {
                is_live(receiver) && receiver.matched_index < caught_up_index
            });
            !transfer.has_arrived || is_catching_up
        });
        let needed = known.by_node.iter().map(|(node_id, transfer)| {
            let matched = progress
                .get(node_id)
                .map_or(0, |receiver| receiver.matched_index);
            transfer.snapshot_index.max(matched)
        });
        needed.min()
    }
}

/// A snapshot on its way. Dropping it means that it did not arrive.
pub(crate) struct Underway {
    transfers: Arc<Transfers>,
    to: NodeId,
    number: u64,
}

impl Underway {
    /// It was installed.
    pub(crate) fn arrived(self) {
        let mut known = self.transfers.known.lock();
        if let Some(transfer) = known.by_node.get_mut(&self.to)
            && transfer.number == self.number
        {
            transfer.has_arrived = true;
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut known = self.transfers.known.lock();
        let is_over = known
            .by_node
            .get(&self.to)
            .is_some_and(|transfer| transfer.number == self.number && !transfer.has_arrived);
        if is_over {
            known.by_node.remove(&self.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(matched_index: u64) -> BTreeMap<NodeId, Progress> {
        let progress = Progress {
            matched_index,
            is_voter: false,
            silent_ms: Some(0),
        };
        BTreeMap::from([(4, progress)])
    }

    #[test]
    fn a_receiver_is_waited_for_until_it_has_caught_up() {
        let transfers: Arc<Transfers> = Arc::default();
        let needed = |matched, caught_up| transfers.needed(&at(matched), caught_up, |_| true);
        assert_eq!(needed(0, 500), None);
        let underway = transfers.begin(4, 100);
        assert_eq!(needed(0, 500), Some(100));
        underway.arrived();
        assert_eq!(needed(100, 500), Some(100));
        assert_eq!(needed(300, 500), Some(300));
        assert_eq!(needed(500, 500), None);
        assert_eq!(needed(0, 500), None, "and then forgotten");
    }

    #[test]
    fn what_did_not_arrive_or_is_gone_needs_nothing() {
        let transfers: Arc<Transfers> = Arc::default();
        drop(transfers.begin(4, 100));
        assert_eq!(transfers.needed(&at(0), 500, |_| true), None);
        let older = transfers.begin(4, 100);
        let newer = transfers.begin(4, 200);
        drop(older);
        assert_eq!(transfers.needed(&at(0), 500, |_| true), Some(200));
        newer.arrived();
        assert_eq!(transfers.needed(&at(200), 500, |_| false), None);
        transfers.begin(4, 300).arrived();
        assert_eq!(transfers.needed(&BTreeMap::new(), 500, |_| true), None);
    }
}
