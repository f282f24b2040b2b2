//! What a copy of the map says of the replicas of this node's process: which it should have, and which never come back.
//!
//! Safe with any copy, however old: ids are issued once, so one that was retired in some version is retired in all later ones, and
//! one that a copy does not know yet is none of its business.

use std::collections::BTreeMap;

use raftlog::{NodeId, process_of};
use shard_map::{Members, ReplicaId, ShardMap};

/// The replicas of a process by the map, by shard.
pub(super) fn wanted(map: &ShardMap, process: NodeId) -> BTreeMap<u64, NodeId> {
    let all = map.shards.iter();
    all.filter_map(|shard| Some((shard.id, wanted_of(&shard.members, process)?)))
        .collect()
}

/// The replica of a process in one group. A process on a new disk may be named by the disk that it lost: then it is ready under
/// the id that it will get.
fn wanted_of(members: &Members, process: NodeId) -> Option<NodeId> {
    let own = ReplicaId(process);
    let ids = members.replicas.iter().map(|replica| replica.id);
    if let Some(named) = ids.clone().filter(|id| process_of(*id) == process).max() {
        return Some(named);
    }
    let is_lost = |id: u64| {
        let id = ReplicaId(id);
        id.node() == own.node() && id.incarnation() < own.incarnation()
    };
    let newest = members.newest_issued(own.node())?;
    (is_lost(newest.0) && ids.into_iter().any(is_lost)).then_some(process)
}

/// Whether a replica was taken out of its shard for good. A shard that the map does not know is a child that it will know.
pub(super) fn is_retired(map: &ShardMap, shard: u64, replica: NodeId) -> bool {
    let replica = ReplicaId(replica);
    map.shard(shard).is_some_and(|shard| {
        let newest = shard.members.newest_issued(replica.node());
        !shard.members.has(replica) && newest.is_some_and(|newest| replica <= newest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shard_map::{Replica, Shard};

    const fn id(node: u32, incarnation: u32, returns: u16) -> u64 {
        ReplicaId::new(node, incarnation, returns).0
    }

    /// A map of shard 1 with these replicas; the newest ids that were ever issued are those of `issued`.
    fn map(replicas: &[u64], issued: &[u64]) -> ShardMap {
        let replica = |id: &u64| Replica { id: *id, role: 0 };
        let members = Members {
            replicas: replicas.iter().map(replica).collect(),
            issued: issued.to_vec(),
            ..Members::default()
        };
        let shard = Shard {
            id: 1,
            members,
            ..Shard::default()
        };
        ShardMap {
            version: 1,
            shards: vec![shard],
            ..ShardMap::default()
        }
    }

    #[test]
    fn a_replica_is_wanted_by_its_own_process_alone() {
        let map = map(
            &[1, id(2, 0, 3), id(3, 1, 0)],
            &[1, id(2, 0, 3), id(3, 1, 0)],
        );
        let of = |process| wanted(&map, process).get(&1).copied();
        assert_eq!((of(1), of(2), of(4)), (Some(1), Some(id(2, 0, 3)), None));
        assert_eq!((of(3), of(id(3, 1, 0))), (None, Some(id(3, 1, 0))));
        assert_eq!(wanted(&ShardMap::default(), 1), BTreeMap::new());
    }

    /// A node on a new disk gets ready for what the map is about to call it.
    #[test]
    fn a_new_disk_is_ready_for_what_its_old_one_had() {
        let process = id(3, 2, 0);
        let of = |map: &ShardMap| wanted(map, process).get(&1).copied();
        assert_eq!(of(&map(&[1, 3], &[1, 3])), Some(process));
        assert_eq!(
            of(&map(&[1, id(3, 1, 4)], &[1, id(3, 1, 4)])),
            Some(process)
        );
        assert_eq!(of(&map(&[1, 2], &[1, 2, 3])), None, "it had left the shard");
        let returned = id(3, 2, 1);
        assert_eq!(of(&map(&[3, returned], &[returned])), Some(returned));
        assert_eq!(
            of(&map(&[1, 3], &[1, process])),
            None,
            "and was retired again"
        );
    }

    #[test]
    fn only_what_was_issued_and_is_no_member_is_retired() {
        let map = map(&[1, id(2, 0, 2)], &[1, id(2, 0, 2), 3]);
        assert!(
            is_retired(&map, 1, 3) && is_retired(&map, 1, 2) && is_retired(&map, 1, id(2, 0, 1))
        );
        assert!(!is_retired(&map, 1, 1) && !is_retired(&map, 1, id(2, 0, 2)));
        assert!(
            !is_retired(&map, 2, 3),
            "a child that the map does not know yet"
        );
        assert!(!is_retired(&map, 1, 4), "a node that it never was on");
        assert!(!is_retired(&ShardMap::default(), 1, 3));
    }

    /// A replica came back under a new id; a copy of the map from before says of the id before alone that it is gone.
    #[test]
    fn a_stale_copy_of_the_map_never_removes_a_living_replica() {
        let stale = map(&[1, 2], &[1, 2, 3]);
        assert!(is_retired(&stale, 1, 3));
        assert!(!is_retired(&stale, 1, id(3, 0, 1)) && !is_retired(&stale, 1, id(3, 1, 0)));
    }
}
