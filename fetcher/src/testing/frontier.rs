//! A frontier in memory: hands out scripted leases and records every call. Owns everything as one shard.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use client::{CallError, Frontier, Offered};
use parking_lot::Mutex;
use pb::discover_item::Item;
use pb::report_result::Code;
use proto::frontier_v1 as pb;
use tokio::sync::Notify;
use urlkey::{SuffixList, partition_hash};

use crate::links::Links;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct FakeFrontier {
    pub(crate) ready: Mutex<VecDeque<pb::Lease>>,
    pub(crate) robots: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    pub(crate) items: Mutex<Vec<pb::DiscoverItem>>,
    pub(crate) reports: Mutex<Vec<pb::Report>>,
    pub(crate) releases: Mutex<Vec<pb::ReleaseItem>>,
    pub(crate) lease_calls: Mutex<Vec<pb::LeaseRequest>>,
    /// The last answer of each number, to be repeated.
    answers: Mutex<BTreeMap<u64, pb::LeaseResponse>>,
    /// So many lease calls are carried out and then fail, as when an answer is lost.
    pub(crate) lost_answers: AtomicU64,
    /// So many report calls fail before one is taken.
    pub(crate) failing_reports: AtomicU64,
    /// Nothing offered is delivered.
    pub(crate) unreachable: AtomicBool,
    /// What every offered item is answered with; known unless set.
    pub(crate) refuse: Mutex<Option<String>>,
    /// What the next reports are answered with, in turn; closed when there is nothing left.
    pub(crate) codes: Mutex<VecDeque<Code>>,
    pub(crate) changed: Notify,
}

impl FakeFrontier {
    pub(crate) fn links(&self) -> Vec<pb::Link> {
        let is_link = |item: &pb::DiscoverItem| match &item.item {
            Some(Item::Link(link)) => Some(link.clone()),
            _ => None,
        };
        self.items.lock().iter().filter_map(is_link).collect()
    }

    pub(crate) fn link_urls(&self) -> Vec<String> {
        self.links().into_iter().map(|link| link.url).collect()
    }

    pub(crate) fn errands(&self) -> Vec<pb::Errand> {
        let is_errand = |item: &pb::DiscoverItem| match &item.item {
            Some(Item::Errand(errand)) => Some(errand.clone()),
            _ => None,
        };
        self.items.lock().iter().filter_map(is_errand).collect()
    }

    pub(crate) fn results(&self) -> Vec<pb::ErrandResult> {
        let is_result = |item: &pb::DiscoverItem| match &item.item {
            Some(Item::ErrandResult(result)) => Some(result.clone()),
            _ => None,
        };
        self.items.lock().iter().filter_map(is_result).collect()
    }

    /// Returns when so many leases have ended.
    pub(crate) async fn ended(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            if self.reports.lock().len() + self.releases.lock().len() >= count {
                return;
            }
            changed.await;
        }
    }

    fn answers_for(&self, count: usize) -> Vec<pb::ReportResult> {
        self.changed.notify_waiters();
        let mut codes = self.codes.lock();
        let next = || codes.pop_front().unwrap_or(Code::Closed);
        std::iter::repeat_with(next)
            .take(count)
            .map(|code| pb::ReportResult {
                code: code.into(),
                reason: "scripted".to_owned(),
            })
            .collect()
    }
}

fn unavailable(reason: &str) -> CallError {
    CallError::Unavailable {
        reason: reason.to_owned(),
        retry_after_ms: 0,
    }
}

fn take_one(count: &AtomicU64) -> bool {
    count
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        })
        .is_ok()
}

#[async_trait::async_trait]
impl Frontier for FakeFrontier {
    async fn discover(&self, _: pb::DiscoverRequest) -> Result<pb::DiscoverResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn lease(&self, request: pb::LeaseRequest) -> Result<pb::LeaseResponse, CallError> {
        self.lease_calls.lock().push(request.clone());
        let repeated = self.answers.lock().get(&request.number).cloned();
        let response = match repeated {
            Some(response) => pb::LeaseResponse {
                repeated: true,
                ..response
            },
            None => {
                let mut ready = self.ready.lock();
                let count = ready.len().min(request.max_leases as usize);
                let leases: Vec<_> = ready.drain(..count).collect();
                let by_class = vec![ready.len() as u64];
                let summary = pb::ReadySummary {
                    by_class,
                    ..Default::default()
                };
                pb::LeaseResponse {
                    leases,
                    ready: Some(summary),
                    ..Default::default()
                }
            }
        };
        self.answers.lock().insert(request.number, response.clone());
        if response.leases.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(request.wait_ms.min(10))).await;
        }
        if take_one(&self.lost_answers) {
            Err(unavailable("the answer was lost"))
        } else {
            Ok(response)
        }
    }

    async fn report(&self, request: pb::ReportRequest) -> Result<pb::ReportResponse, CallError> {
        if take_one(&self.failing_reports) {
            return Err(unavailable("no leader"));
        }
        let count = request.items.len();
        self.reports.lock().extend(request.items);
        Ok(pb::ReportResponse {
            results: self.answers_for(count),
        })
    }

    async fn release(&self, request: pb::ReleaseRequest) -> Result<pb::ReleaseResponse, CallError> {
        let count = request.items.len();
        self.releases.lock().extend(request.items);
        Ok(pb::ReleaseResponse {
            results: self.answers_for(count),
        })
    }

    async fn robots_body(
        &self,
        request: pb::RobotsBodyRequest,
    ) -> Result<pb::RobotsBodyResponse, CallError> {
        let body = self.robots.lock().get(request.digest.as_ref()).cloned();
        Ok(pb::RobotsBodyResponse {
            body: body.map(Into::into),
        })
    }

    async fn set_policy(
        &self,
        _: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn remove(&self, _: pb::RemoveRequest) -> Result<pb::RemoveResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn get_url(&self, _: pb::GetUrlRequest) -> Result<pb::GetUrlResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn get_host(&self, _: pb::GetHostRequest) -> Result<pb::GetHostResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn shard_status(
        &self,
        _: pb::ShardStatusRequest,
    ) -> Result<pb::ShardStatusResponse, CallError> {
        Err(unavailable("not scripted"))
    }

    async fn shard_map(&self, _: pb::ShardMapRequest) -> Result<pb::ShardMapResponse, CallError> {
        Err(unavailable("not scripted"))
    }
}

#[async_trait::async_trait]
impl Links for FakeFrontier {
    async fn offer(&self, items: Vec<pb::DiscoverItem>) -> Offered {
        if self.unreachable.load(Ordering::SeqCst) {
            return Offered {
                results: vec![None; items.len()],
                undelivered: items,
            };
        }
        use pb::discover_result::Code as Offer;
        let result = match &*self.refuse.lock() {
            Some(reason) => pb::DiscoverResult {
                code: Offer::Refused.into(),
                reason: reason.clone(),
                ..pb::DiscoverResult::default()
            },
            None => pb::DiscoverResult {
                code: Offer::New.into(),
                reason: String::new(),
                ..pb::DiscoverResult::default()
            },
        };
        let results = vec![Some(result); items.len()];
        self.items.lock().extend(items);
        Offered {
            results,
            undelivered: Vec::new(),
        }
    }

    fn shards(&self) -> Vec<pb::ShardEntry> {
        vec![pb::ShardEntry {
            shard: 1,
            first: 0,
            last: u64::MAX,
            ..Default::default()
        }]
    }

    fn owner(&self, _partition: u64) -> Option<u64> {
        Some(1)
    }

    async fn refresh(&self) {}

    fn partition_of_host(&self, host: &str) -> u64 {
        partition_hash(&SuffixList::shipped().site(host)).0
    }
}

/// Work on a page without rules or history.
pub(crate) fn page_work(url: &str) -> pb::PageWork {
    let allow = pb::RobotsReference {
        state: pb::robots_reference::State::AllowAll.into(),
        ..Default::default()
    };
    pb::PageWork {
        crawl: 1,
        url: url.to_owned(),
        robots: Some(allow),
        ..Default::default()
    }
}

/// A lease of a page, two minutes long.
pub(crate) fn page_lease(url: &str, token: u64) -> pb::Lease {
    let key = pb::LeaseKey {
        kind: pb::lease_key::Kind::Page.into(),
        partition: 7,
        fingerprint: token,
    };
    let work = Some(pb::lease::Work::Page(page_work(url)));
    pb::Lease {
        key: Some(key),
        token,
        remaining_ms: 120_000,
        work,
    }
}
