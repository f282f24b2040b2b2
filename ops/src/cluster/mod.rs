//! Nodes and fetchers as processes of this machine: started, signalled, restarted, and spoken to over gRPC.
//!
//! | file | what it holds |
//! |---|---|
//! | `programs` | where the executables are |
//! | `process` | one child process: its ready line, its log, its signals |
//! | `ready` | the line a process prints when it is up |
//! | `addresses` | where the processes listen |
//! | `node`, `fetcher` | command lines |
//! | `running` | all processes of one cluster |
//! | `control` | policy, seeds, leaders, counters, the shard map, over gRPC |
//! | `listing`, `walk` | every URL with its record: of a shard, of all |
//! | `idle` | whether anything is left to do, and what; counters of all shards together |
//!
//! Every process is known by its pid alone and ends with the value that stands for it.

mod addresses;
mod control;
mod fetcher;
mod idle;
mod limits;
pub mod listing;
mod node;
mod process;
mod programs;
mod ready;
mod running;
mod walk;

pub use addresses::Addresses;
pub use control::{Control, NodeClient, all_statuses, clients, shards};
pub use fetcher::FetcherSpec;
pub use idle::{left, sum_of_terms};
pub use listing::Listed;
pub use node::NodeSpec;
pub use programs::Programs;
pub use running::Cluster;
pub use walk::Walk;
