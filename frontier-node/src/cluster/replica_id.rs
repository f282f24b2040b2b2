//! Node numbers, incarnations, and the ids made of them.
//!
//! A node's number names its place and stays. An incarnation counts the disks that the place has lost: a replica that has
//! forgotten its votes must not vote under an old id, so an empty disk comes back under the next incarnation.

use raftlog::NodeId;

/// The replica id of a node's incarnation: its number, plus 2^32 for every disk it lost.
pub const fn replica_id(node: u32, incarnation: u32) -> NodeId {
    ((incarnation as u64) << 32) | node as u64
}

/// The node of a replica: the low 16 bits. The 16 above count how often a node came back to a group on one disk
/// ([`shard_map::ReplicaId`]); all groups of a node have one id so far, so that they are 0.
pub const fn node_number(replica: NodeId) -> u32 {
    replica as u32 & 0xffff
}

/// The incarnation of a replica; 0 is the founding one.
pub const fn incarnation(replica: NodeId) -> u32 {
    (replica >> 32) as u32
}

/// The id of a replica's page store in URL records: the node's number, plus 2^16 for every disk it lost.
pub const fn store_id(replica: NodeId) -> u32 {
    (incarnation(replica) << 16) | (node_number(replica) & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_apart_again_and_differ_between_incarnations() {
        for node in [1, 2, 65_535] {
            for disks in [0, 1, 9] {
                let replica = replica_id(node, disks);
                assert_eq!((node_number(replica), incarnation(replica)), (node, disks));
            }
            assert_eq!(replica_id(node, 0), u64::from(node));
            assert_eq!(store_id(replica_id(node, 0)), node);
        }
        assert_eq!(store_id(replica_id(3, 2)), (2 << 16) | 3);
        let id = shard_map::ReplicaId::new(3, 2, 5);
        assert_eq!((node_number(id.0), incarnation(id.0)), (3, 2));
        assert_eq!(shard_map::ReplicaId::new(3, 2, 0).0, replica_id(3, 2));
    }
}
