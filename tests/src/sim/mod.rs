//! The whole cluster in one process under virtual time, with faults drawn from a seed. The same seed gives the same run.
//!
//! ```text
//! seed -> plan -> nodes (a runtime each, real RocksDB)  <- net: late, lost, repeated, cut ->  fetchers, clients -> web
//!                   ^ nemesis: power cuts, stops, cuts, slow disks, sleeps of days      judged: gaps, promises, rows
//!                   ^ driver: splits, ordered again and again until they are done
//!                   ^ moves: nodes join, are emptied, give replicas away, step by step by the map
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `plan`, `rng` | what a seed decides |
//! | `process`, `clock`, `disk` | a node as a process: its lives, its clocks, what a power loss leaves |
//! | `net` | messages between processes |
//! | `world`, `fetcher`, `fetch`, `clients` | model fetchers by the rules of the lease, and other clients |
//! | `split_schedule`, `driver`, `splits` | when shards are split; who drives that, and what group 0 would know |
//! | `zero`, `copies` | the map as group 0 would hold it, and as nodes hear of it |
//! | `move_schedule`, `moves` | when nodes join, are emptied and give replicas away; who drives that |
//! | `shard_map` | the map as clients know it |
//! | `web`, `oracle`, `replicas`, `shard_rows` | the judges: gaps at the web, promises, what replicas hold |
//! | `audit`, `owners`, `places` | the end: all is fetched, each hash has one owner, each node has what the map gives it |
//! | `nemesis`, `bug` | faults; bugs that can be put back |
//! | `growth` | no faults, more and more nodes: what coordination costs |
//! | `cluster`, `run`, `trace`, `watchdog` | true time, one run, what happened, a run that does not go on |
//!
//! Everything of one run is on one thread: work that blocks is done on the spot, and each node's runtime has a paused
//! clock that the run moves. Messages take at least one step, so that the order in which processes take their turns
//! within a step does not matter.

mod audit;
mod bug;
mod clients;
mod clock;
mod cluster;
mod copies;
mod disk;
mod driver;
mod fetch;
mod fetcher;
mod growth;
mod move_schedule;
mod moves;
mod nemesis;
mod net;
mod oracle;
mod owners;
mod places;
mod plan;
mod process;
mod replicas;
mod rng;
mod run;
mod shard_map;
mod shard_rows;
mod split_schedule;
mod splits;
mod tests;
mod trace;
mod watchdog;
mod web;
mod world;
mod zero;
