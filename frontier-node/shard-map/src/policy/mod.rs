//! Who should lead, and what should be split: pure functions of the map and of what was measured.
//!
//! | file | concept |
//! |---|---|
//! | `transfer` | a leadership that should go to another node |
//! | `leader_balance` | wishes, draining nodes, and an even load of leading |
//! | `auto_split` | shards that are too large or too busy |

mod auto_split;
mod leader_balance;
mod transfer;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod auto_split_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod leader_balance_tests;

pub use auto_split::{Measured, SplitRules, proposed_splits};
pub use leader_balance::{BalanceRules, wanted_transfers};
pub use transfer::Transfer;
pub(crate) use transfer::transfers_off;
