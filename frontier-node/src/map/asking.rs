//! A command to the map, sent to wherever group 0 is led: hints are followed, else everybody is asked.

use std::collections::{BTreeSet, VecDeque};

use proto::raft_v1 as pb;
use shard_map::{Accepted, Command, ShardMap};
use tonic::{Code, Status};

use super::map_group::MapError;
use super::verdict::{self, Answer};
use crate::cluster::Greeter;

/// Asks one address after another, hints first, each at most once.
///
/// # Errors
///
/// See [`MapError`].
pub(crate) async fn ask_for_change(
    greeter: &Greeter,
    cluster_id: u64,
    addresses: Vec<String>,
    command: &Command,
) -> Result<Accepted, MapError> {
    let mut reason = "it is not known where its leader is".to_owned();
    let (mut left, mut asked) = (VecDeque::from(addresses), BTreeSet::new());
    while let Some(address) = left.pop_front() {
        if address.is_empty() || !asked.insert(address.clone()) {
            continue;
        }
        let request = pb::ChangeMapRequest {
            cluster_id,
            command: command.to_bytes().into(),
        };
        match greeter.change_map(&address, request).await {
            Ok(answer) => match verdict::from_wire(answer) {
                Some(Answer::Verdict(verdict)) => return verdict.map_err(MapError::Refused),
                Some(Answer::Elsewhere(leader)) => left.push_front(leader),
                None => reason = "the answer makes no sense".to_owned(),
            },
            Err(status) => reason = said(&address, &status),
        }
    }
    Err(MapError::Unavailable(reason))
}

fn said(address: &str, status: &Status) -> String {
    match status.code() {
        Code::DeadlineExceeded => status.message().to_owned(),
        _ => format!("{address}: {}", status.message()),
    }
}

/// Where group 0 may be led: at its voters, then at whatever nodes there are.
pub(crate) fn places_of_leader(map: &ShardMap) -> Vec<String> {
    let voters = map.group_zero.voters().map(shard_map::Replica::node);
    let voters = voters.filter_map(|number| map.node(number));
    let all = voters.chain(map.present_nodes());
    all.map(|node| node.address.clone()).collect()
}
