//! Replicated log: many small Raft groups over one RocksDB log, each with a synchronous state machine over one
//! RocksDB of rows. The only crate that knows `openraft`; it knows neither URLs nor gRPC.
//!
//! ```text
//! propose -> Raft -> log database (one fsync for all groups that wait) -> quorum -> apply -> state database -> reply
//! ```
//!
//! - [`Engine`]: the two databases of a node, `log` (with WAL) and `state` (without), and the threads that use them.
//! - [`Group`]: one Raft group. Proposals are fenced to a leadership; reads need proof of leadership.
//! - [`StateMachine`]: what a user gives; entries in, rows and replies out.
//! - [`StateDb`]: read access to rows.
//! - [`Transport`]: messages between replicas, as opaque bytes.
//!
//! # Rules
//!
//! - No reply before the fsync of a quorum. Appends and votes of all groups that wait at the same moment go down in
//!   one batch and one fsync.
//! - Rows, applied index and membership go into the state in **one** batch, so an entry is never applied twice or
//!   skipped, whatever survives of the unlogged state.
//! - The state is flushed every 32 MiB of applied entries or 30 s; a log is purged only below the applied index that
//!   a finished flush covers.
//! - What blocks runs on this crate's own threads. The only blocking calls for users are [`Engine::open`],
//!   [`Engine::close`] and the reads of [`StateDb`].
//!
//! # The calls of a node
//!
//! ```text
//! Engine::open(options, Arc<dyn Transport>) -> Result<Arc<Engine>, OpenError>             blocking
//! engine.create_group(GroupConfig { group_id, members, initial_rows }).await              idempotent
//! engine.create_replica(group_id, replica).await                                          joins: no rows, no vote
//! engine.create_child(group_id, own, is_named).await -> Result<ChildGroup, GroupError>      founded by another group's entry
//! engine.remove_group(group_id, replica).await                                            for good, idempotent
//! engine.created_groups().await -> BTreeSet<GroupId>
//! engine.open_group(group_id, MachineFactory).await -> Result<Group, GroupError>          replays first
//! engine.state() -> StateDb; engine.metrics() -> EngineMetrics; engine.close().await
//!
//! group.replica() -> NodeId                                                                this node's id in the group
//! group.leadership() -> watch::Receiver<Leadership>; leadership.token() -> Option<LeadershipToken>
//! group.submit(token, payload).await -> Result<PendingReply, ProposeError>                in log order
//! pending.await -> Result<Reply { index, term, bytes }, ProposeError>
//! group.propose(token, payload).await                                                     submit and wait
//! group.confirm_leadership().await -> Result<Confirmed { term, applied_index }, ReadError>  ReadIndex, shared
//! group.wait_for_recovery(timeout).await -> Result<applied index, ReadError>
//! group.last_received() -> Option<LastReceived>; group.status() -> GroupStatus
//! group.flush().await; group.trigger_election().await; group.transfer_leader(to).await; group.shutdown().await
//! group.knows_longer_log() -> bool                                                         it stood and cannot win
//! group.add_learner(token, node_id).await -> Result<(), ControlError>                     on the leader
//! group.change_voters(token, BTreeSet<NodeId>).await; group.remove_learner(token, node_id).await
//! group.progress() -> BTreeMap<NodeId, Progress>                                          empty unless leader
//!
//! state.get(key); state.multi_get(keys); state.scan(&range, limit)                        blocking
//! state.read(|view: &StateView<'_>| ..)                                                   one consistent view
//! ```

mod crc32c;
mod db_cell;
mod durable_dir;
mod engine;
mod errors;
mod fault;
mod flusher;
mod group;
mod health;
mod ids;
mod lanes;
pub mod limits;
mod log;
mod machine;
mod metrics;
mod network;
mod open_db;
mod options;
mod raft_types;
mod raw;
mod recovery;
mod rows;
mod runtime;
mod snapshot;
mod state;
mod status;
pub mod testing;
mod threads;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use durable_dir::make_durable_dir;
pub use engine::{ChildGroup, Engine, SoleVoter};
pub use errors::{
    ControlError, GroupError, OpenError, ProposeError, ReadError, StateError, StopReason,
    TransportError,
};
pub use fault::{DiskStep, FaultHook, Rule};
pub use group::{Group, GroupConfig, PendingReply, Reply};
pub use ids::{GroupId, Leadership, LeadershipToken, NodeId, process_of};
pub use lanes::panic_is_caught;
pub use machine::{Applied, Committed, Founded, MachineError, MachineFactory, StateMachine};
pub use metrics::EngineMetrics;
pub use options::{EngineOptions, Monotonic, RaftTiming};
pub use raw::RawStore;
pub use rows::{KeyRange, RowBatch, RowChange};
pub use runtime::seed_randomness;
pub use state::{Row, StateDb, StateView};
pub use status::{Confirmed, GroupState, GroupStatus, LastReceived, Progress};
pub use threads::{Threads, VirtualDisk};
pub use transport::{CallKind, Destination, NoTransport, ReplyStream, Transport};
