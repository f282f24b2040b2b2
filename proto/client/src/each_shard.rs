//! Something that is done to every shard of a cluster, while shards split.

use std::collections::BTreeMap;

use crate::{Router, RouterError};

impl Router {
    /// Visits every shard. One that split before its turn has handed what it had until then to a child that the map in use does
    /// not show; so the maps of all processes are read again, those that answered among them, until they show none that was not
    /// visited.
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
            if left.is_empty() {
                return Ok(visited);
            }
            for shard in left {
                let given = visit(shard).await?;
                visited.insert(shard, given);
            }
            self.read_all().await?;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::RouterOptions;
    use crate::testing::{FakeNode, Role, map};
    use std::sync::Arc;
    use urlkey::SuffixList;

    async fn router(node: &Arc<FakeNode>) -> Arc<Router> {
        let options = RouterOptions::new(SuffixList::shipped());
        let router = Router::connect(vec![node.peer("a:1")], options).await;
        Arc::new(router.unwrap())
    }

    // The shard splits after the map was read and before its turn.
    #[tokio::test]
    async fn a_child_that_came_meanwhile_is_visited_too() {
        let node = FakeNode::new(Role::Leads);
        *node.map.lock() = map(1, &[(1, 0, u64::MAX)]);
        let router = router(&node).await;
        let mut order = Vec::new();
        let visit = async |shard| {
            order.push(shard);
            *node.map.lock() = map(3, &[(1, 0, 9), (2, 10, u64::MAX)]);
            Ok::<_, RouterError>(shard * 10)
        };
        let given = router.each_shard(visit).await.unwrap();
        assert_eq!(given, BTreeMap::from([(1, 10), (2, 20)]));
        assert_eq!(order, [1, 2]);
    }
}
