//! Applying `discover`: the check against `seen` here is the truth, whatever a filter said before.

use super::{Discover, DiscoverResult, ItemKind, Link, Refusal};
use crate::{
    authority::Authority,
    command::alias::moved,
    counters::Counter,
    error::MachineError,
    keys::{self, queue::QueueRow},
    limits,
    state::Policy,
    step::{Queued, Step},
};

impl Step<'_> {
    pub(crate) fn discover(
        &mut self,
        batch: &Discover,
    ) -> Result<Vec<DiscoverResult>, MachineError> {
        let mut results = Vec::with_capacity(batch.items.len());
        for (position, item) in batch.items.iter().enumerate() {
            let result = match &item.kind {
                _ if position >= limits::DISCOVER_ITEMS => {
                    DiscoverResult::Refused(Refusal::Malformed)
                }
                Some(ItemKind::Link(link)) => self.link(link)?,
                Some(ItemKind::Errand(errand)) => self.place_errand(errand)?,
                Some(ItemKind::ErrandResult(result)) => self.take_errand_result(result)?,
                None => DiscoverResult::Refused(Refusal::Malformed),
            };
            match &result {
                DiscoverResult::New => {}
                DiscoverResult::Known => self.m.count(Counter::DiscoverKnown),
                DiscoverResult::Refused(refusal) => self.m.count(refusal.counter()),
                DiscoverResult::WrongShard => self.m.count(Counter::WrongShard),
                DiscoverResult::Moved(_) => self.m.count(Counter::DiscoverMoved),
            }
            results.push(result);
        }
        Ok(results)
    }

    fn link(&mut self, link: &Link) -> Result<DiscoverResult, MachineError> {
        if !self.m.holds(link.partition) {
            return Ok(DiscoverResult::WrongShard);
        }
        let (Some((name, authority)), true) = (Authority::of(&link.url), is_within_limits(link))
        else {
            return Ok(DiscoverResult::Refused(Refusal::Malformed));
        };
        let policy = match self.m.crawls.get(&link.crawl) {
            None => return Ok(DiscoverResult::Refused(Refusal::UnknownCrawl)),
            Some(crawl) if crawl.removed => {
                return Ok(DiscoverResult::Refused(Refusal::CrawlRemoved));
            }
            Some(crawl) => crawl.policy,
        };
        let seen = keys::seen::key(link.partition, link.fingerprint);
        if self.overlay.get(self.rows, &seen)?.is_some() {
            return Ok(DiscoverResult::Known);
        }
        let found = self.m.hosts.find(link.partition, name);
        if let Some(host) = found.and_then(|id| self.m.hosts.get(id))
            && host.alias().is_some()
        {
            return Ok(match moved(host, &link.url) {
                Some((url, _)) => DiscoverResult::Moved(url),
                None => DiscoverResult::Refused(Refusal::Malformed),
            });
        }
        if let Some(refusal) = self.link_refusal(link, &policy, found, authority) {
            return Ok(DiscoverResult::Refused(refusal));
        }
        let Some(id) = found.or_else(|| self.new_host(link.partition, name)) else {
            return Ok(DiscoverResult::Refused(Refusal::SiteHosts));
        };
        let Some(slot) = self.slot(id, authority)? else {
            return Ok(DiscoverResult::Refused(Refusal::HostLanes));
        };
        self.overlay.put(seen, Vec::new());
        self.accept(id, slot, link)?;
        Ok(DiscoverResult::New)
    }

    fn accept(&mut self, id: u64, slot: u8, link: &Link) -> Result<(), MachineError> {
        if link.priority > 255 {
            self.m.count(Counter::PriorityClamped);
        }
        self.m.meta.accepted += 1;
        let queued = Queued {
            crawl: link.crawl,
            slot,
            priority: link.priority.min(255) as u8,
            due_ms: self.now_ms,
            fingerprint: link.fingerprint,
        };
        let row = QueueRow {
            tried: false,
            url: link.url.clone(),
            depth: link.depth,
            redirect_hops: link.redirect_hops,
            metadata: link.metadata.clone(),
            queue_key: link.queue_key.clone(),
        };
        self.enqueue(id, queued, &row)
    }

    /// Limits are judged before anything is written, so that a refused URL leaves no trace but its count.
    fn link_refusal(
        &self,
        link: &Link,
        policy: &Policy,
        host: Option<u64>,
        authority: Authority,
    ) -> Option<Refusal> {
        if link.depth > policy.max_depth {
            return Some(Refusal::Depth);
        }
        if link.redirect_hops > policy.max_redirect_hops {
            return Some(Refusal::RedirectHops);
        }
        let site = self.m.hosts.site(link.partition);
        match host.and_then(|id| self.m.hosts.get(id)) {
            None if u64::from(site.hosts) >= policy.max_hosts_per_site => {
                return Some(Refusal::SiteHosts);
            }
            Some(host) if u64::from(host.queued()) >= policy.max_queued_per_host => {
                return Some(Refusal::HostQueueFull);
            }
            Some(host) => {
                let known = host
                    .slot(authority)
                    .is_some_and(|slot| host.lane(link.crawl, slot).is_some());
                if !known && host.lanes.len() >= limits::LANES_PER_HOST {
                    return Some(Refusal::HostLanes);
                }
            }
            None => {}
        }
        (u64::from(site.queued) >= policy.max_queued_per_site).then_some(Refusal::SiteQueueFull)
    }
}

fn is_within_limits(link: &Link) -> bool {
    let metadata_size_bytes: usize = link
        .metadata
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    link.url.len() <= limits::URL_SIZE_BYTES
        && link.metadata.len() <= limits::METADATA_PAIRS
        && metadata_size_bytes <= limits::METADATA_SIZE_BYTES
        && link.queue_key.len() <= limits::QUEUE_KEY_SIZE_BYTES
}

impl Refusal {
    fn counter(self) -> Counter {
        match self {
            Self::UnknownCrawl => Counter::RefusedUnknownCrawl,
            Self::CrawlRemoved => Counter::RefusedCrawlRemoved,
            Self::Depth => Counter::RefusedDepth,
            Self::RedirectHops => Counter::RefusedRedirectHops,
            Self::HostQueueFull => Counter::RefusedHostQueueFull,
            Self::SiteQueueFull => Counter::RefusedSiteQueueFull,
            Self::SiteHosts => Counter::RefusedSiteHosts,
            Self::HostLanes => Counter::RefusedHostLanes,
            Self::Malformed => Counter::RefusedMalformed,
            Self::ErrandsFull => Counter::RefusedErrandsFull,
            Self::ErrandHops => Counter::RefusedErrandHops,
        }
    }
}
