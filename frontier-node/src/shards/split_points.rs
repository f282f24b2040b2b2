//! Where a shard may be split, by what its leader has in memory.

use machine::{Load, SplitPoint};
use raftlog::{KeyRange, StateError};

use super::split::{SplitError, call_error};
use crate::node::FrontierNode;
use crate::state::Extent;

/// What a split is to achieve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitAim {
    /// Halves of the load, as even as sites allow.
    Middle,
    /// The site with this partition hash alone in a shard.
    Around(u64),
}

/// The answer, with the shape of the shard that it is true of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPlaces {
    /// The shard's epoch.
    pub epoch: u64,
    /// Its first partition hash.
    pub first: u64,
    /// Its last one.
    pub last: u64,
    /// Where to split it, in this order, the child of the first split at the second. Empty: there is no such place.
    pub points: Vec<u64>,
    /// What lies on either side of the middle.
    pub loads: Option<(Load, Load)>,
}

impl FrontierNode {
    /// Where to split a shard that this node leads. Cost follows the shard's sites and leases.
    ///
    /// # Errors
    ///
    /// The shard is not here, not led by this replica, or busy.
    pub async fn split_points(&self, shard: u64, aim: SplitAim) -> Result<SplitPlaces, SplitError> {
        let open = self.shared_node().shards.get(shard);
        let open = open.ok_or(SplitError::UnknownShard(shard))?;
        open.leading().map_err(|error| call_error(&open, &error))?;
        let found = open.look(move |machine, _, _| {
            let (points, middle) = match aim {
                SplitAim::Middle => {
                    let middle = machine.middle_of_load();
                    (middle.iter().map(|point| point.at).collect(), middle)
                }
                SplitAim::Around(site) => (machine.points_around(site), None),
            };
            places(Extent::of(machine), points, middle)
        });
        found.await.map_err(|error| call_error(&open, &error))
    }

    /// About how many bytes the rows of a shard take on this node's disk.
    ///
    /// # Errors
    ///
    /// The shard is not here, or busy.
    pub async fn shard_size_bytes(&self, shard: u64) -> Result<u64, SplitError> {
        let open = self.shared_node().shards.get(shard);
        let open = open.ok_or(SplitError::UnknownShard(shard))?;
        let db = self.engine().state();
        let size = open.look(move |machine, _, _| {
            let ranges = machine.key_ranges().into_iter();
            let mut sizes = ranges.map(|(from, to)| db.disk_size_bytes(&KeyRange::new(from, to)));
            sizes.try_fold(0, |sum: u64, size| Ok(sum.saturating_add(size?)))
        });
        let size: Result<u64, StateError> =
            size.await.map_err(|error| call_error(&open, &error))?;
        size.map_err(|error| SplitError::Unavailable(error.to_string()))
    }
}

fn places(extent: Extent, points: Vec<u64>, middle: Option<SplitPoint>) -> SplitPlaces {
    SplitPlaces {
        epoch: extent.epoch,
        first: extent.first,
        last: extent.last,
        points,
        loads: middle.map(|point| (point.parent, point.child)),
    }
}
