//! A frontier node: several shards in one process, each a replicated machine, behind `client::Frontier`.
//!
//! ```text
//! gRPC or in-process call -> service: checks, drops what is known -> shard task: gathers, stamps -> raftlog
//!                                                                                                      |
//!          answer <- pump <- reply board <- machine.apply on the log's thread <------------------------+
//! ```
//!
//! | part | concept |
//! |---|---|
//! | `node`, `options` | a node, what it is opened with |
//! | `process` | the program: settings, servers, clean stop |
//! | `identity` | what a directory was made with; mismatches are refused |
//! | `service` | the calls of `frontier.v1` in this process |
//! | `convert` | between the wire and the machine, with every check of what arrives |
//! | `shards` | the shards of the node, and splits, which make more of them |
//! | `shard` | one task a shard: gathers, stamps, submits, ticks; long polls |
//! | `state` | the machine as the log's state machine |
//! | `known` | the filter in front of RocksDB that lets known URLs cost nothing |
//! | `clock` | shard time |
//! | `cluster` | what makes several nodes one cluster |
//! | `map` | group 0: the shard map, and the jobs that change the cluster's shape |
//! | `admin` | `admin.v1`: what operators ask |
//! | `outbox` | undelivered items of reports |
//! | `grpc`, `http`, `metrics` | servers and figures |
//! | `open_files` | how many connections the limit of open files allows |
//! | `work` | where work that blocks is done |
//! | `durable_file` | small files replaced whole or not at all |
//! | `limits` | every limit |

mod admin;
mod backup;
mod clock;
pub mod cluster;
mod convert;
mod durable_file;
mod errors;
mod grpc;
mod http;
mod identity;
mod known;
pub mod limits;
mod listing;
pub mod map;
mod metrics;
mod node;
mod open_files;
mod options;
mod outbox;
pub mod process;
mod service;
mod shard;
mod shards;
mod state;
#[cfg(test)]
mod tests;
mod unsafe_recovery;
mod work;

pub use clock::{Clocks, SystemClocks};
pub use grpc::ServeError;
pub use identity::{Descriptor, IdentityError, ShardRange, equal_ranges};
pub use known::FilterError;
pub use map::MapView;
pub use metrics::Metrics;
pub use node::{FrontierNode, NodeError};
pub use options::NodeOptions;
pub use shards::{ShardStanding, SplitAim, SplitDone, SplitError, SplitPlaces, SplitRequest};
pub use unsafe_recovery::{
    Lost, RecoveredGroup, UnsafeRecovery, UnsafeRecoveryError, recover_unsafe,
};
