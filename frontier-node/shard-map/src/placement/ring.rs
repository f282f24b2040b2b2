//! The consistent-hash ring: the same on every machine and in every version.
//!
//! Each member has [`RING_POINTS`] points on a ring of 64-bit numbers: the XXH3-64 of its number and the point's, both
//! four bytes big-endian. From a position upwards members come in the order in which their points are met. A member
//! that is added takes its share from all others and moves nothing else.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use crate::limits::RING_POINTS;

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
        let mut points: Vec<(u64, u32)> = members
            .iter()
            .flat_map(|member| {
                (0..RING_POINTS).map(|point| (point_position(*member, point), *member))
            })
            .collect();
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
}

fn point_position(member: u32, point: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&member.to_be_bytes());
    bytes[4..].copy_from_slice(&point.to_be_bytes());
    xxh3_64(&bytes)
}

/// Where a group stands on the ring. Of its number, not of its range: a split leaves the parent where it is.
#[must_use]
pub fn group_position(group: u64) -> u64 {
    let mut bytes = *b"group\0\0\0\0\0\0\0\0";
    bytes[5..].copy_from_slice(&group.to_be_bytes());
    xxh3_64(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_a_permutation_that_depends_on_the_members_only() {
        let ring = Ring::new([3, 1, 65_535]);
        assert_eq!(ring, Ring::new([65_535, 3, 1, 1]));
        for group in 0..100 {
            let mut order = ring.order(group_position(group));
            order.sort_unstable();
            assert_eq!(order, [1, 3, 65_535]);
        }
        assert_eq!(Ring::new([]).order(0), Vec::<u32>::new());
        assert_eq!(Ring::new([9]).order(u64::MAX), [9]);
    }

    #[test]
    fn positions_are_the_same_everywhere() {
        // Every node computes these; another answer here moves every replica of every cluster.
        assert_eq!(
            [
                point_position(1, 0),
                point_position(1, 99),
                point_position(65_538, 7)
            ],
            [
                1_615_066_885_898_703_908,
                6_476_534_978_456_936_661,
                4_142_903_826_410_620_185
            ]
        );
        assert_eq!(
            [
                group_position(0),
                group_position(1),
                group_position(u64::MAX)
            ],
            [
                3_920_163_636_878_579_271,
                3_489_619_056_975_115_297,
                12_911_809_803_251_800_923
            ]
        );
        let ring = Ring::new(1..=5);
        let orders: Vec<Vec<u32>> = (0..6).map(|g| ring.order(group_position(g))).collect();
        let pinned = [
            [5, 3, 4, 1, 2],
            [2, 4, 3, 1, 5],
            [2, 4, 5, 3, 1],
            [2, 1, 3, 4, 5],
            [4, 3, 5, 1, 2],
            [5, 3, 4, 1, 2],
        ];
        assert_eq!(orders, pinned);
    }
}
