//! The consistent-hash ring: which members something goes to, the same on every machine and in every version, without
//! asking anyone. Pages find their stores by it, replicas their nodes.
//!
//! Each member has [`POINTS`] points on a ring of 64-bit numbers: the XXH3-64 of its number and the point's, both four bytes
//! big-endian. From a position upwards members come in the order in which their points are met. A member that is added
//! takes its share from all others and moves nothing else.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

/// Points of one member.
pub const POINTS: u32 = 100;

/// The ring of some members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// By position; two members at one position come by number.
    points: Vec<(u64, u32)>,
    member_count: usize,
}

impl Ring {
    /// The ring of these members, whatever order they come in.
    pub fn new(members: impl IntoIterator<Item = u32>) -> Self {
        let members: BTreeSet<u32> = members.into_iter().collect();
        let of = |member: &u32| {
            let member = *member;
            (0..POINTS).map(move |point| (position_of(member, point), member))
        };
        let mut points: Vec<(u64, u32)> = members.iter().flat_map(of).collect();
        points.sort_unstable();
        Self {
            points,
            member_count: members.len(),
        }
    }

    /// All members, the first choice for this position first.
    #[must_use]
    pub fn order(&self, position: u64) -> Vec<u32> {
        let start = self.points.partition_point(|(at, _)| *at < position);
        let mut order = Vec::with_capacity(self.member_count);
        let mut met = BTreeSet::new();
        for (_, member) in self.points[start..].iter().chain(&self.points[..start]) {
            if met.insert(*member) {
                order.push(*member);
            }
            if order.len() == self.member_count {
                break;
            }
        }
        order
    }

    /// How many members there are.
    #[must_use]
    pub const fn member_count(&self) -> usize {
        self.member_count
    }
}

fn position_of(member: u32, point: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&member.to_be_bytes());
    bytes[4..].copy_from_slice(&point.to_be_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_permutation_that_depends_on_the_members_only() {
        let ring = Ring::new([3, 1, 65_538]);
        assert_eq!(ring, Ring::new([65_538, 3, 1, 1]));
        for position in (0..100).map(|at: u64| xxh3_64(&at.to_be_bytes())) {
            let mut order = ring.order(position);
            order.sort_unstable();
            assert_eq!(order, [1, 3, 65_538]);
        }
        assert_eq!(Ring::new([]).order(0), Vec::<u32>::new());
        assert_eq!(Ring::new([9]).order(u64::MAX), [9]);
        assert_eq!(ring.member_count(), 3);
    }

    #[test]
    fn positions_are_the_same_everywhere() {
        // Every machine computes these; another answer here moves every page and every replica of every cluster.
        assert_eq!(
            [
                position_of(1, 0),
                position_of(1, 99),
                position_of(65_538, 7)
            ],
            [
                1_615_066_885_898_703_908,
                6_476_534_978_456_936_661,
                4_142_903_826_410_620_185
            ]
        );
        let ring = Ring::new([1, 2, 3]);
        assert_eq!(ring.order(u64::MAX)[0], ring.points[0].1, "it wraps");
    }
}
