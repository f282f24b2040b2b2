//! Several shards in memory that hand out scripted leases, wait for work as a real shard does, and die as they are told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use client::{CallError, Frontier};
use parking_lot::Mutex;
use proto::frontier_v1 as pb;
use tokio::sync::Notify;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

use super::page_lease;

/// What a shard does with calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Leads,
    /// Nobody leads it.
    Dead,
    /// It takes calls and never answers.
    Silent,
}

#[derive(Default)]
struct Shard {
    mood: Mood,
    ready: VecDeque<pb::Lease>,
    /// The newest number that was granted something, and what.
    answered: (u64, pb::LeaseResponse),
    calls: usize,
    reports: Vec<pb::Report>,
    links: Vec<String>,
    open: BTreeSet<u64>,
}

/// See the head of this file. Shards are numbered from 1 and share the hashes evenly.
pub(crate) struct Shards {
    count: u64,
    /// How many the map shows: fewer until the first one is split.
    shown: AtomicU64,
    was_split: AtomicBool,
    shards: Mutex<BTreeMap<u64, Shard>>,
    changed: Notify,
    released: Mutex<Vec<u64>>,
    most_open: Mutex<usize>,
    pub(crate) sessions: Mutex<BTreeSet<Vec<u8>>>,
}

impl Shards {
    pub(crate) fn new(count: u64) -> Arc<Self> {
        Self::showing(count, count)
    }

    /// One shard, of which another one is split off when it is told.
    pub(crate) fn unsplit() -> Arc<Self> {
        Self::showing(2, 1)
    }

    fn showing(count: u64, shown: u64) -> Arc<Self> {
        Arc::new(Self {
            count,
            shown: AtomicU64::new(shown),
            was_split: AtomicBool::new(false),
            shards: Mutex::new((1..=count).map(|shard| (shard, Shard::default())).collect()),
            changed: Notify::new(),
            released: Mutex::default(),
            most_open: Mutex::default(),
            sessions: Mutex::default(),
        })
    }

    /// The upper half of shard 1 is shard 2's from now on.
    pub(crate) fn split(&self) {
        self.was_split.store(true, Ordering::SeqCst);
        self.shown.store(self.count, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    fn map_version(&self) -> u64 {
        self.shown.load(Ordering::SeqCst)
    }

    /// What a report for a lease of this hash is answered with.
    fn judge(&self, shard: u64, partition: u64) -> pb::report_result::Code {
        let is_moved = shard == 1 && partition > self.width();
        if is_moved && self.was_split.load(Ordering::SeqCst) {
            pb::report_result::Code::WrongShard
        } else {
            pb::report_result::Code::Closed
        }
    }

    /// Work on a page becomes ready. The token names the lease everywhere.
    pub(crate) fn queue(&self, shard: u64, url: &str, token: u64) {
        self.queue_lease(shard, page_lease(url, token));
    }

    pub(crate) fn queue_lease(&self, shard: u64, lease: pb::Lease) {
        self.with(shard, |shard| shard.ready.push_back(lease));
        self.changed.notify_waiters();
    }

    pub(crate) fn is(&self, shard: u64, mood: Mood) {
        self.with(shard, |shard| shard.mood = mood);
    }

    pub(crate) fn reports(&self, shard: u64) -> Vec<pb::Report> {
        self.with(shard, |shard| shard.reports.clone())
    }

    /// Links that this shard took.
    pub(crate) fn links(&self, shard: u64) -> Vec<String> {
        self.with(shard, |shard| shard.links.clone())
    }

    pub(crate) fn lease_calls(&self, shard: u64) -> usize {
        self.with(shard, |shard| shard.calls)
    }

    /// Tokens of leases that came back unstarted.
    pub(crate) fn released(&self) -> Vec<u64> {
        self.released.lock().clone()
    }

    /// The most leases that were open at once, all shards together.
    pub(crate) fn most_open(&self) -> usize {
        *self.most_open.lock()
    }

    /// Returns when so many leases of all shards have ended.
    pub(crate) async fn ended(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            let reports: usize = (1..=self.count).map(|s| self.reports(s).len()).sum();
            if reports + self.released().len() >= count {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn width(&self) -> u64 {
        u64::MAX / self.shown.load(Ordering::SeqCst)
    }

    fn with<R>(&self, shard: u64, act: impl FnOnce(&mut Shard) -> R) -> R {
        act(self.shards.lock().get_mut(&shard).unwrap())
    }

    async fn mood(&self, shard: u64) -> Result<(), CallError> {
        match self.with(shard, |shard| shard.mood) {
            Mood::Leads => Ok(()),
            Mood::Dead => Err(CallError::NotLeader {
                leader_address: String::new(),
            }),
            Mood::Silent => std::future::pending().await,
        }
    }

    fn grant(&self, request: &pb::LeaseRequest) -> Option<pb::LeaseResponse> {
        let granted = self.with(request.shard, |shard| {
            let (number, response) = &shard.answered;
            if *number == request.number {
                let repeated = pb::LeaseResponse {
                    repeated: true,
                    ..response.clone()
                };
                return Some(repeated);
            }
            if shard.ready.is_empty() {
                return None;
            }
            let count = shard.ready.len().min(request.max_leases as usize);
            let leases: Vec<_> = shard.ready.drain(..count).collect();
            shard.open.extend(leases.iter().map(|lease| lease.token));
            let response = pb::LeaseResponse {
                leases,
                ready: Some(pb::ReadySummary {
                    by_class: vec![shard.ready.len() as u64],
                    ..Default::default()
                }),
                ..Default::default()
            };
            shard.answered = (request.number, response.clone());
            Some(response)
        });
        let open = self.shards.lock().values().map(|s| s.open.len()).sum();
        let mut most = self.most_open.lock();
        *most = most.max(open);
        granted
    }

    fn close(&self, shard: u64, tokens: &[u64]) -> Vec<pb::ReportResult> {
        self.with(shard, |shard| {
            for token in tokens {
                shard.open.remove(token);
            }
        });
        self.changed.notify_waiters();
        let closed = pb::ReportResult {
            code: pb::report_result::Code::Closed.into(),
            reason: String::new(),
        };
        vec![closed; tokens.len()]
    }
}

#[async_trait::async_trait]
impl Frontier for Shards {
    async fn discover(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        self.mood(request.shard).await?;
        let urls = request.items.iter().filter_map(|item| match &item.item {
            Some(pb::discover_item::Item::Link(link)) => Some(link.url.clone()),
            _ => None,
        });
        self.with(request.shard, |shard| shard.links.extend(urls));
        let new = pb::DiscoverResult {
            code: pb::discover_result::Code::New.into(),
            reason: String::new(),
            ..pb::DiscoverResult::default()
        };
        Ok(pb::DiscoverResponse {
            results: vec![new; request.items.len()],
            now_ms: 1,
        })
    }

    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        self.sessions.lock().insert(request.session.to_vec());
        self.with(request.shard, |shard| shard.calls += 1);
        let until = tokio::time::Instant::now() + Duration::from_millis(request.wait_ms);
        let version = self.map_version();
        loop {
            let changed = self.changed.notified();
            if self.map_version() != version {
                return Ok(pb::LeaseResponse {
                    map_version: self.map_version(),
                    ..Default::default()
                });
            }
            self.mood(request.shard).await?;
            if let Some(response) = self.grant(&request) {
                return Ok(response);
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                return Ok(pb::LeaseResponse::default());
            }
        }
    }

    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        self.mood(request.shard).await?;
        let codes = request.items.iter().map(|item| {
            let partition = item.key.unwrap_or_default().partition;
            self.judge(request.shard, partition)
        });
        let codes: Vec<_> = codes.collect();
        let taken = request.items.into_iter().zip(&codes);
        let taken = taken.filter(|(_, code)| **code == pb::report_result::Code::Closed);
        let taken: Vec<_> = taken.map(|(item, _)| item).collect();
        let tokens: Vec<u64> = taken.iter().map(|item| item.token).collect();
        self.with(request.shard, |shard| shard.reports.extend(taken));
        self.close(request.shard, &tokens);
        let results = codes.into_iter().map(|code| pb::ReportResult {
            code: code.into(),
            reason: String::new(),
        });
        Ok(pb::ReportResponse {
            results: results.collect(),
        })
    }

    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        self.mood(request.shard).await?;
        let tokens: Vec<u64> = request.items.iter().map(|item| item.token).collect();
        self.released.lock().extend(&tokens);
        let results = self.close(request.shard, &tokens);
        Ok(pb::ReleaseResponse { results })
    }

    async fn shard_map(&self, _: pb::ShardMapRequest) -> Result<pb::ShardMapResponse, CallError> {
        let entry = |shard: u64| pb::ShardEntry {
            shard,
            first: (shard - 1) * self.width() + u64::from(shard > 1),
            last: if shard == self.map_version() {
                u64::MAX
            } else {
                shard * self.width()
            },
            ..Default::default()
        };
        Ok(pb::ShardMapResponse {
            version: self.map_version(),
            shards: (1..=self.map_version()).map(entry).collect(),
            identity: Some(pb::Identity {
                canonicalizer_version: CANONICALIZER_VERSION,
                suffix_list_digest: SuffixList::shipped().digest(),
            }),
            node_addresses: Vec::new(),
        })
    }

    async fn robots_body(
        &self,
        _: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        Ok(pb::RobotsBodyResponse::default())
    }

    async fn set_policy(
        &self,
        _: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        Ok(pb::SetPolicyResponse::default())
    }

    async fn remove(&self, _: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        Ok(pb::RemoveResponse::default())
    }

    async fn get_url(&self, _: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        Ok(pb::GetUrlResponse::default())
    }

    async fn get_host(&self, _: pb::GetHostRequest) -> Result<pb::GetHostResponse, CallError> {
        Ok(pb::GetHostResponse::default())
    }

    async fn shard_status(
        &self,
        _: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        Ok(pb::ShardStatusResponse::default())
    }
}
