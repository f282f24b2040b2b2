//! What holds in every map, and between every two that follow each other. Shared by tests, simulator and decoding.
//!
//! | file | invariant |
//! |---|---|
//! | `m1_tiling` | the shards tile the hash space |
//! | `m2_members` | every group has voters, on nodes that are there, under ids that were issued |
//! | `m3_jobs` | a job is on its way, and no group has two |
//! | `m4_nodes` | numbers and addresses are unique; what is named is there |
//! | `m5_growth` | what only grows; voters are never fewer; a shard loses hashes to its child only |

mod m1_tiling;
mod m2_members;
mod m3_jobs;
mod m4_nodes;
mod m5_growth;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

use crate::model::ShardMap;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{number}: {what}")]
pub struct Broken {
    /// Which.
    pub number: &'static str,
    /// How.
    pub what: String,
}

fn ensure(holds: bool, number: &'static str, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        return Ok(());
    }
    Err(Broken {
        number,
        what: what(),
    })
}

/// Checks one map. That of a cluster that was not founded is empty.
///
/// # Errors
///
/// The first invariant that does not hold.
pub fn check(map: &ShardMap) -> Result<(), Broken> {
    if !map.is_founded() {
        return ensure(*map == ShardMap::default(), "M0", || {
            "a map without a version says something".to_owned()
        });
    }
    m1_tiling::check(map)?;
    m2_members::check(map)?;
    m3_jobs::check(map)?;
    m4_nodes::check(map)
}

/// Checks that one map may follow another, directly or with others between.
///
/// # Errors
///
/// The first invariant that does not hold.
pub fn check_follows(before: &ShardMap, after: &ShardMap) -> Result<(), Broken> {
    m5_growth::check(before, after)
}
