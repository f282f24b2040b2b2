//! The machine judged by a plain reference model, by scripts a person can read, and by its own harness put to the test.
//!
//! - `world`: a few hosts, URLs and crawls, so that collisions are frequent.
//! - `state`, `clock`: the model: lists and linear scans, everything recomputed from the rules of docs/PROTOCOL.md.
//! - `judge` and `judge_*`: what an entry may have answered and changed. Where the rules leave a choice (which of two equal
//!   hosts, jitter, the date of a visit) the model checks the bounds and takes over what the machine chose.
//! - `compare`: the model against all rows.
//! - `store`: rows in memory that count reads.
//! - `run`: one machine, its model, its invariants and its twins (rebuilt from rows; batched), entry by entry.
//! - `ops`, `random_tests`: random commands; seeds of failures are kept.
//! - `split_tests`: the same, and shards that split in between: each shard has its model, cut out of that of the whole.
//! - `split_twin_tests`: a shard that splits and one that does not, in lock-step: every host must fare the same.
//! - `script`, `golden_tests`: the scripts in `golden/`.
//! - `full_outbox_tests`: what is too large for a script.
//! - `cost_tests`: row reads a command at two sizes.
//! - `mutant_tests`, `split_mutant_tests`, `recover_mutant_tests`: bugs put back on purpose, each of which must be caught.

mod clock;
mod compare;
mod cost_tests;
mod full_outbox_tests;
mod golden_tests;
mod judge;
mod judge_discover;
mod judge_due;
mod judge_lease;
mod judge_recover;
mod judge_remove;
mod judge_report;
mod judge_split;
mod mutant_tests;
pub(crate) mod ops;
pub(crate) mod random_tests;
mod recover_mutant_tests;
pub(crate) mod run;
mod script;
mod split_mutant_tests;
mod split_tests;
mod split_twin_tests;
mod state;
mod store;
mod world;
