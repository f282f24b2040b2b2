//! Where processes are.

use raftlog::NodeId;

/// Knows the addresses of processes, the replicas that never came back to a group. Asked often, from async code: it answers from memory.
pub trait AddressBook: Send + Sync + 'static {
    /// Host and port of a replica's gRPC server, `127.0.0.1:7701`. None: unknown, or gone for ever.
    fn address(&self, replica: NodeId) -> Option<String>;

    /// All replicas to which a live link is kept. Read once a second; the replica itself is passed over.
    fn peers(&self) -> Vec<NodeId>;
}
