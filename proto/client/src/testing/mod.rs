//! Frontiers for tests: one whose discover calls are answered by a closure, and [`FakeNode`] of a whole cluster.

mod fake_node;

pub(crate) use fake_node::{FakeNode, Role, Served};

use crate::{CallError, Frontier};
use parking_lot::Mutex;
use proto::frontier_v1 as pb;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

type Discover =
    dyn Fn(&pb::DiscoverRequest) -> Result<pb::DiscoverResponse, CallError> + Send + Sync;

/// A frontier that answers from a script and keeps what it was asked.
pub(crate) struct Scripted {
    pub(crate) map: Mutex<pb::ShardMapResponse>,
    pub(crate) asked: Mutex<Vec<pb::DiscoverRequest>>,
    pub(crate) discover: Box<Discover>,
    /// Shard 1 has none of the hashes from here on.
    pub(crate) split_at: Mutex<Option<u64>>,
}

impl Scripted {
    pub(crate) fn new(
        ranges: &[(u64, u64, u64)],
        discover: impl Fn(&pb::DiscoverRequest) -> Result<pb::DiscoverResponse, CallError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let map = Mutex::new(map(1, ranges));
        Self {
            map,
            asked: Mutex::default(),
            discover: Box::new(discover),
            split_at: Mutex::default(),
        }
    }

    /// Where a read arrived, if it arrived at the owner.
    fn read(&self, shard: u64, partition: u64) -> Result<u64, CallError> {
        let split_at = *self.split_at.lock();
        if shard == 1 && split_at.is_some_and(|at| partition >= at) {
            let map_version = self.map.lock().version;
            return Err(CallError::WrongShard { map_version });
        }
        Ok(shard)
    }
}

/// A shard map with our identity.
pub(crate) fn map(version: u64, ranges: &[(u64, u64, u64)]) -> pb::ShardMapResponse {
    let shards = ranges
        .iter()
        .map(|&(shard, first, last)| pb::ShardEntry {
            shard,
            first,
            last,
            ..Default::default()
        })
        .collect();
    let identity = pb::Identity {
        canonicalizer_version: CANONICALIZER_VERSION,
        suffix_list_digest: SuffixList::shipped().digest(),
    };
    pb::ShardMapResponse {
        version,
        shards,
        identity: Some(identity),
        node_addresses: Vec::new(),
    }
}

/// One result of the same code for each item.
pub(crate) fn all(
    request: &pb::DiscoverRequest,
    code: pb::discover_result::Code,
) -> pb::DiscoverResponse {
    let result = pb::DiscoverResult {
        code: code.into(),
        reason: String::new(),
        ..pb::DiscoverResult::default()
    };
    pb::DiscoverResponse {
        results: vec![result; request.items.len()],
        now_ms: 1,
    }
}

/// A link with a partition of its own choosing.
pub(crate) fn link(partition: u64, url: &str) -> pb::DiscoverItem {
    let link = pb::Link {
        crawl: 1,
        url: url.to_owned(),
        partition,
        ..Default::default()
    };
    pb::DiscoverItem {
        item: Some(pb::discover_item::Item::Link(link)),
    }
}

pub(super) fn unscripted<T>() -> Result<T, CallError> {
    Err(CallError::Unavailable {
        reason: "not in the script".into(),
        retry_after_ms: 0,
    })
}

#[async_trait::async_trait]
impl Frontier for Scripted {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        let answer = (self.discover)(&request);
        self.asked.lock().push(request);
        answer
    }
    async fn lease(&self, _: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        unscripted()
    }
    async fn report(&self, _: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        unscripted()
    }
    async fn release(&self, _: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        unscripted()
    }
    async fn robots_body(
        &self,
        _: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        unscripted()
    }
    async fn set_policy(
        &self,
        _: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        unscripted()
    }
    async fn remove(&self, _: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        unscripted()
    }
    async fn get_url(&self, request: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        // Echoes where the call arrived.
        Ok(pb::GetUrlResponse {
            record: None,
            applied_index: self.read(request.shard, request.partition)?,
        })
    }
    async fn get_host(
        &self,
        request: pb::GetHostRequest,
    ) -> Result<pb::GetHostResponse, CallError> {
        Ok(pb::GetHostResponse {
            record: None,
            applied_index: self.read(request.shard, request.partition)?,
        })
    }
    async fn shard_status(
        &self,
        _: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        unscripted()
    }
    async fn shard_map(&self, _: pb::ShardMapRequest) -> Result<pb::ShardMapResponse, CallError> {
        Ok(self.map.lock().clone())
    }
}
