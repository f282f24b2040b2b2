//! The first map: of the node's descriptor, which is the same on all founders, and of what the address book says of them.

use sha2::{Digest, Sha256};
use shard_map::{Identity, Node, NodeState, command::Found, equal_ranges, limits::REPLICAS};
use urlkey::FingerprintKey;

use crate::cluster::NodeEntry;
use crate::identity::Descriptor;

/// Why the map cannot be founded now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FoundingError {
    /// Every founder of this old cluster replicates every shard, and a group of the map has so many voters at most.
    #[error(
        "{0} nodes replicate every shard, and the map knows at most {REPLICAS} voters of a shard"
    )]
    TooManyFounders(usize),
    /// The shards are not those that the map would begin with.
    #[error("the ranges of the shards are not equal ones, numbered from 1")]
    OddRanges,
    /// It will be, once they have said so.
    #[error("it is not known yet where node {0} is")]
    UnknownAddress(u32),
}

/// The command that founds the map.
///
/// The voters are those of the founding (`FoundingVoters`), under the ids of the founders' first disks. A disk that was lost since
/// is entered next, like any other.
pub(super) fn found(descriptor: &Descriptor, book: &[NodeEntry]) -> Result<Found, FoundingError> {
    let founders = descriptor.founders.len();
    let target = match descriptor.replicas {
        0 => u32::try_from(founders).unwrap_or(u32::MAX),
        replicas => replicas,
    };
    if target > REPLICAS {
        return Err(FoundingError::TooManyFounders(founders));
    }
    let ranges = descriptor.shards.iter();
    let ranges: Vec<_> = ranges.map(|r| (r.shard, r.first, r.last)).collect();
    let equal = equal_ranges(ranges.len() as u64).into_iter().zip(1..);
    if !equal
        .map(|((first, last), id)| (id, first, last))
        .eq(ranges)
    {
        return Err(FoundingError::OddRanges);
    }
    let nodes = descriptor.founders.iter().map(|number| {
        let known = book.iter().find(|entry| entry.node == *number);
        let known = known.filter(|entry| !entry.address.is_empty());
        known
            .map(|entry| node(&first_disk(entry), None))
            .ok_or(FoundingError::UnknownAddress(*number))
    });
    Ok(Found {
        cluster_id: descriptor.cluster_id,
        identity: identity(descriptor),
        replica_target: target,
        shards: descriptor.shards.len() as u64,
        nodes: nodes.collect::<Result<_, _>>()?,
    })
}

fn first_disk(entry: &NodeEntry) -> NodeEntry {
    NodeEntry {
        incarnation: 0,
        ..entry.clone()
    }
}

/// What all processes of the cluster agree on.
pub(crate) fn identity(descriptor: &Descriptor) -> Identity {
    Identity {
        suffix_list_digest: descriptor.suffix_list_digest,
        canonicalizer_version: descriptor.canonicalizer_version,
        fingerprint_key_id: key_id(descriptor.key),
    }
}

/// A node as the address book knows it now; what only the map knows stays.
pub(super) fn node(entry: &NodeEntry, known: Option<&Node>) -> Node {
    Node {
        number: entry.node,
        incarnation: entry.incarnation,
        address: entry.address.clone(),
        http_address: known.map(|n| n.http_address.clone()).unwrap_or_default(),
        holds_shards: known.is_none_or(|n| n.holds_shards),
        has_store: entry.has_store,
        state: known.map_or(NodeState::Up, Node::state).into(),
        disk: known
            .filter(|n| n.incarnation == entry.incarnation)
            .map_or(0, |n| n.disk),
    }
}

/// Tells two secrets apart and does not tell the secret.
fn key_id(key: FingerprintKey) -> u64 {
    let digest = Sha256::new()
        .chain_update(b"escapement fingerprint key")
        .chain_update(key.to_bytes())
        .finalize();
    let first = digest.iter().take(8);
    first.fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::identity::ShardRange;
    use shard_map::{Body, ShardMap, apply};
    use urlkey::SuffixList;

    fn entry(node: u32, incarnation: u32) -> NodeEntry {
        NodeEntry {
            node,
            incarnation,
            address: format!("n{node}:7700"),
            has_store: true,
        }
    }

    fn descriptor(founders: u32, shards: u64) -> Descriptor {
        let founders = (1..=founders).collect();
        Descriptor::found(1, founders, shards, &SuffixList::shipped(), None).unwrap()
    }

    #[test]
    fn the_first_map_has_the_ranges_of_the_descriptor_and_the_replicas_that_are_there() {
        for (nodes, shards) in [(1, 1), (3, 4), (5, 7), (7, 64)] {
            let descriptor = descriptor(nodes, shards);
            // Node 1 had lost two disks before there was a map; its groups do not know yet.
            let book: Vec<_> = (1..=nodes)
                .map(|n| entry(n, if n == 1 { 2 } else { 0 }))
                .collect();
            let found = found(&descriptor, &book).unwrap();
            let mut map = ShardMap::default();
            apply(&mut map, &Body::Found(found).into()).unwrap();
            assert_eq!(map.cluster_id, descriptor.cluster_id);
            let of_map = map.shards.iter().map(|s| ShardRange {
                shard: s.id,
                first: s.first,
                last: s.last,
            });
            assert_eq!(of_map.collect::<Vec<_>>(), descriptor.shards);
            let replicas: Vec<u64> = (1..=u64::from(nodes)).collect();
            for (group, members) in map.groups() {
                let voters: Vec<u64> = members.voters().map(|r| r.id).collect();
                assert_eq!(voters, replicas, "group {group}");
            }
        }
    }

    #[test]
    fn a_cluster_of_one_wants_three_voters_once_there_are_three_nodes() {
        let descriptor = descriptor(1, 2).wanting(3);
        let mut map = ShardMap::default();
        let found = found(&descriptor, &[entry(1, 0)]).unwrap();
        apply(&mut map, &Body::Found(found).into()).unwrap();
        assert_eq!(map.replica_target, 3);
        assert!(map.groups().all(|(_, m)| m.voters().count() == 1));
    }

    #[test]
    fn what_cannot_be_founded_is_named() {
        let book: Vec<_> = (1..=9).map(|n| entry(n, 0)).collect();
        let words =
            |descriptor: &Descriptor, book: &[NodeEntry]| found(descriptor, book).unwrap_err();
        assert_eq!(
            words(&descriptor(8, 1), &book),
            FoundingError::TooManyFounders(8)
        );
        assert_eq!(
            words(&descriptor(3, 1), &book[..2]),
            FoundingError::UnknownAddress(3)
        );
        let mut odd = descriptor(3, 2);
        odd.shards[0].last -= 1;
        assert_eq!(words(&odd, &book), FoundingError::OddRanges);
    }

    #[test]
    fn a_key_is_told_from_another_and_not_told() {
        let keys = [[1; 16], [2; 16]].map(FingerprintKey::from_bytes);
        assert_ne!(key_id(keys[0]), key_id(keys[1]));
        assert_ne!(key_id(keys[0]), 0x0101_0101_0101_0101);
    }
}
