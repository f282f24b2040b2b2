//! Reading by name: one URL, one host, wherever it lives.

use std::sync::Arc;

use crate::call::Kind;
use crate::limits::OWNER_HOPS;
use crate::{CallError, Frontier, Router};
use futures::future::BoxFuture;
use proto::frontier_v1 as pb;
use urlkey::{Canonicalizer, HostName};

impl Router {
    /// What its owner knows of a URL in a crawl. The text need not be canonical.
    ///
    /// # Errors
    ///
    /// The text is no URL, or its owner cannot answer.
    pub async fn get_url(&self, crawl: u32, url: &str) -> Result<pb::GetUrlResponse, CallError> {
        let url = Canonicalizer::default()
            .canonicalize(url)
            .map_err(invalid)?;
        let partition = self.partition_of_host(url.host());
        let shard = self.owner_or_error(partition)?;
        let request = pb::GetUrlRequest {
            shard,
            crawl,
            url: url.into(),
            partition,
            local: false,
        };
        self.call_owner(shard, partition, Kind::LED, |frontier, shard| {
            let request = pb::GetUrlRequest {
                shard,
                ..request.clone()
            };
            Box::pin(async move { frontier.get_url(request).await })
        })
        .await
    }

    /// What its owner knows of a host.
    ///
    /// # Errors
    ///
    /// The text is no canonical host, or its owner cannot answer.
    pub async fn get_host(&self, host: &str) -> Result<pb::GetHostResponse, CallError> {
        let host = HostName::parse(host).map_err(invalid)?;
        let partition = self.partition_of_host(host.as_str());
        let shard = self.owner_or_error(partition)?;
        let request = pb::GetHostRequest {
            shard,
            host: host.as_str().to_owned(),
            partition,
            local: false,
        };
        self.call_owner(shard, partition, Kind::LED, |frontier, shard| {
            let request = pb::GetHostRequest {
                shard,
                ..request.clone()
            };
            Box::pin(async move { frontier.get_host(request).await })
        })
        .await
    }

    /// Makes a call about one partition hash; again where another shard turns out to own it by now.
    pub(crate) async fn call_owner<R: Send + 'static>(
        &self,
        mut shard: u64,
        partition: u64,
        kind: Kind,
        send: impl Fn(Arc<dyn Frontier>, u64) -> BoxFuture<'static, Result<R, CallError>> + Send + Sync,
    ) -> Result<R, CallError> {
        let mut hops = 0;
        loop {
            let result = self
                .call(shard, kind, |frontier| send(frontier, shard))
                .await;
            if !matches!(result, Err(CallError::WrongShard { .. })) || hops == OWNER_HOPS {
                return result;
            }
            match self.moved_from(shard, partition).await {
                Some(owner) => shard = owner,
                None => return result,
            }
            hops += 1;
        }
    }

    fn owner_or_error(&self, partition: u64) -> Result<u64, CallError> {
        self.owner(partition).ok_or(CallError::WrongShard {
            map_version: self.map_version(),
        })
    }
}

fn invalid(error: impl std::fmt::Display) -> CallError {
    CallError::Invalid {
        index: 0,
        reason: error.to_string(),
    }
}
