//! Something that is done to every shard of a cluster, while shards split.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::{Router, RouterError};

impl Router {
    /// Visits every shard. One that split before its turn has handed what it had until then to a child that the map in use does
    /// not show; so the map is read again, by those who answered too, until it shows none that was not visited.
    ///
    /// What each visit gave, by shard.
    ///
    /// # Errors
    ///
    /// The first error of a visit; or nobody answers any more.
    pub async fn each_shard<R, E: From<RouterError>>(
        &self,
        mut visit: impl AsyncFnMut(u64) -> Result<R, E>,
    ) -> Result<BTreeMap<u64, R>, E> {
        let mut visited = BTreeMap::new();
        loop {
            let shards = self.shards();
            let left = shards.iter().map(|entry| entry.shard);
            let left: Vec<u64> = left.filter(|shard| !visited.contains_key(shard)).collect();
            for shard in &left {
                let given = visit(*shard).await?;
                visited.insert(*shard, given);
            }
            if left.is_empty() && !self.is_behind() {
                return Ok(visited);
            }
            self.catch_up().await?;
        }
    }

    /// Whether an answer told of a newer map than the one in use.
    pub fn is_behind(&self) -> bool {
        self.heard.load(Ordering::Acquire) > self.map_version()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testing::{FakeNode, connect, map_of};

    // The shard splits after the map was read and before its turn.
    #[tokio::test]
    async fn a_child_that_came_meanwhile_is_visited_too() {
        let node = FakeNode::new(map_of(1, &[(1, 0, u64::MAX)]));
        let router = connect(&node).await;
        let mut order = Vec::new();
        let visit = async |shard| {
            order.push(shard);
            node.set_map(map_of(3, &[(1, 0, 9), (2, 10, u64::MAX)]));
            Ok::<u64, RouterError>(shard * 10)
        };
        let given = router.each_shard(visit).await.unwrap();
        assert_eq!(given, BTreeMap::from([(1, 10), (2, 20)]));
        assert_eq!(order, [1, 2]);
    }
}
