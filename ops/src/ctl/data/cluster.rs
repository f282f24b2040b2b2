//! The shards of a cluster: the owner of a host, or every shard until none is left out.

use super::super::ask::End;
use crate::patience::Patience;
use crate::suffixes;
use client::{CallError, RoutedFrontier, Router, RouterError, RouterOptions};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a shard answers about a host that it has no more.
pub(super) const MOVED: &str = "wrong_shard";

/// The cluster as one who speaks with its shards sees it.
pub(super) struct Cluster {
    pub(super) router: Arc<Router>,
    frontier: RoutedFrontier,
    patience: Patience,
}

impl From<CallError> for End {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Invalid { reason, .. } => Self::Usage(reason),
            error if error.is_retryable() => Self::Unavailable(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<RouterError> for End {
    fn from(error: RouterError) -> Self {
        let words = error.to_string();
        match error {
            RouterError::Unreachable(_) => Self::Unavailable(words),
            RouterError::Address(_) | RouterError::NoPeers => Self::Usage(words),
            _ => Self::Refused(words),
        }
    }
}

impl Cluster {
    /// Reads the shard map, of whichever node answers.
    pub(super) async fn connect(
        addresses: &[String],
        suffix_list: Option<&Path>,
    ) -> Result<Self, End> {
        let options = RouterOptions::new(suffixes::read(suffix_list)?);
        let mut patience = Patience::new();
        let connect = patience
            .until(async || Router::connect_addresses(addresses.to_vec(), options.clone()).await);
        let router = Arc::new(connect.await?);
        Ok(Self {
            frontier: RoutedFrontier::new(Arc::clone(&router)),
            router,
            patience,
        })
    }

    /// One call, tried again while nobody answers.
    pub(super) async fn call<R>(
        &mut self,
        call: impl AsyncFn(&RoutedFrontier) -> Result<R, CallError>,
    ) -> Result<R, End> {
        let frontier = &self.frontier;
        let answer = self.patience.until(async || call(frontier).await).await?;
        self.answered();
        Ok(answer)
    }

    /// One call to the shard that owns a partition hash, and to another one where that turns out to have it by now. The answer with
    /// the shard.
    pub(super) async fn at_owner<R>(
        &mut self,
        partition: u64,
        has_moved: impl Fn(&R) -> bool,
        call: impl AsyncFn(&RoutedFrontier, u64) -> Result<R, CallError>,
    ) -> Result<(u64, R), End> {
        let (router, frontier) = (&self.router, &self.frontier);
        let moved = || CallError::WrongShard {
            map_version: router.map_version(),
        };
        let attempt = async || {
            let shard = router.owner(partition).ok_or_else(moved)?;
            let error = match call(frontier, shard).await {
                Ok(answer) if !has_moved(&answer) => return Ok((shard, answer)),
                Ok(_) => moved(),
                Err(error) => error,
            };
            if matches!(error, CallError::WrongShard { .. }) {
                // Tried again with whatever map is there by then.
                let _ = router.catch_up().await;
            }
            Err(error)
        };
        let answer = self.patience.until(attempt).await?;
        self.answered();
        Ok(answer)
    }

    /// A command may make many calls: each silence is waited for anew.
    fn answered(&mut self) {
        self.patience = Patience::new();
    }

    /// Visits every shard; those that came into being by splits meanwhile too, so that at the end none of the newest map is left
    /// out. What each visit gave, by shard.
    pub(super) async fn each_shard<R>(
        &mut self,
        mut visit: impl AsyncFnMut(&mut Self, u64) -> Result<R, End>,
    ) -> Result<BTreeMap<u64, R>, End> {
        let mut visited = BTreeMap::new();
        loop {
            let shards = self.router.shards();
            let left = shards.iter().map(|entry| entry.shard);
            let left: Vec<u64> = left.filter(|shard| !visited.contains_key(shard)).collect();
            for shard in &left {
                let given = visit(self, *shard).await?;
                visited.insert(*shard, given);
            }
            if left.is_empty() {
                return Ok(visited);
            }
            let router = &self.router;
            self.patience
                .until(async || router.read_all().await)
                .await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_not_a_refusal() {
        let unavailable = CallError::Unavailable {
            reason: "x".to_owned(),
            retry_after_ms: 0,
        };
        assert_eq!(End::from(unavailable.clone()).code(), 3);
        assert_eq!(End::from(RouterError::Unreachable(unavailable)).code(), 3);
        let invalid = CallError::Invalid {
            index: 0,
            reason: "x".to_owned(),
        };
        assert_eq!(End::from(invalid).code(), 2);
        assert_eq!(
            End::from(CallError::StaleCall { newest_number: 1 }).code(),
            1
        );
        assert_eq!(End::from(RouterError::NoPeers).code(), 2);
        let other = RouterError::Canonicalizer { theirs: 1, ours: 2 };
        assert_eq!(End::from(other).code(), 1);
    }
}
