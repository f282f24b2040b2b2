//! The connections to one peer that calls, appends and snapshots share.

use std::sync::Arc;

use parking_lot::Mutex;
use proto::raft_v1::raft_client::RaftClient;
use raftlog::GroupId;
use tonic::transport::Channel;

use crate::dialer::Dialer;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::metrics::Counters;
use crate::options::NetOptions;

/// Which connection a message takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lane {
    /// Calls and appends of a group.
    Group(GroupId),
    /// Snapshots of all groups: they are large and may wait.
    Snapshots,
}

/// The channels to one address.
struct Open {
    dialer: Dialer,
    groups: Vec<Channel>,
    snapshots: Channel,
}

/// Channels to one peer, opened when first used, and opened anew when its address changes.
#[derive(Default)]
pub(crate) struct Lanes {
    open: Mutex<Option<Open>>,
}

impl Lanes {
    /// A client over the right channel.
    pub(crate) fn client(
        &self,
        lane: Lane,
        address: &str,
        options: &NetOptions,
        counters: &Arc<Counters>,
    ) -> RaftClient<Channel> {
        let mut guard = self.open.lock();
        if guard
            .as_ref()
            .is_none_or(|open| open.dialer.address() != address)
        {
            *guard = None;
        }
        let open = guard.get_or_insert_with(|| {
            let dialer = Dialer::new(address, options.connect_timeout(), Arc::clone(counters));
            let lanes = options.append_lanes.max(1);
            Open {
                groups: (0..lanes).map(|_| dialer.lane()).collect(),
                snapshots: dialer.lane(),
                dialer,
            }
        });
        let channel = match lane {
            Lane::Snapshots => &open.snapshots,
            Lane::Group(group_id) => &open.groups[(group_id % open.groups.len() as u64) as usize],
        };
        client_over(channel.clone())
    }
}

/// A client with this crate's message limits.
pub(crate) fn client_over(channel: Channel) -> RaftClient<Channel> {
    RaftClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}
