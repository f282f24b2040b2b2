//! What a fetcher gets for a lease row, the first time and when the answer is repeated.

use super::{Lease, LeaseKey, LeaseKind, PageWork, RobotsWork, Work};
use crate::{
    error::MachineError,
    keys::{self, lease::LeaseRow, robots::RobotsRow, url::UrlRow},
    state::{Good, hosts},
    step::{Step, authority_of},
};

impl Step<'_> {
    /// What the fetcher gets for a lease row, the first time and when the answer is repeated.
    pub(super) fn lease_of(&self, row: &LeaseRow) -> Result<Lease, MachineError> {
        let key = row
            .key
            .ok_or_else(|| MachineError::corrupt(keys::lease::SPACE, "no key"))?;
        let work = match key.kind() {
            LeaseKind::Page => Work::Page(self.page_work(key, row)?),
            LeaseKind::Robots => Work::Robots(self.robots_work(key, row)?),
            LeaseKind::Errand => Work::Errand(row.errand.clone().unwrap_or_default()),
        };
        Ok(Lease {
            key,
            token: row.token,
            deadline_ms: row.deadline_ms,
            work,
        })
    }

    fn page_work(&self, key: LeaseKey, row: &LeaseRow) -> Result<PageWork, MachineError> {
        let url = if row.tried {
            self.tried_url(key.partition, key.fingerprint)?
        } else {
            UrlRow::of_lease(row)
        };
        Ok(PageWork {
            crawl: row.crawl,
            url: url.url,
            priority: row.priority,
            depth: url.depth,
            redirect_hops: url.redirect_hops,
            metadata: url.metadata,
            etag: url.etag,
            last_modified: url.last_modified,
            digest: url.digest,
            robots_digest: row.robots_digest.clone(),
            delay_ms: row.delay_ms,
            attempt: url.attempts,
        })
    }

    fn robots_work(&self, key: LeaseKey, row: &LeaseRow) -> Result<RobotsWork, MachineError> {
        let (id, slot) = hosts::of_robots_id(key.fingerprint);
        let host = self.m.hosts.host(id)?;
        let authority = authority_of(host, slot)?;
        let rules = host
            .authorities
            .get(usize::from(slot))
            .is_some_and(|known| matches!(known.robots.good, Good::Rules(_)));
        // Validators are of use only while the body they validate is kept.
        let stored: Option<RobotsRow> = if rules {
            self.read(
                keys::robots::SPACE,
                &keys::robots::key(key.partition, &host.name, authority),
            )?
        } else {
            None
        };
        let stored = stored.unwrap_or_default();
        Ok(RobotsWork {
            origin: authority.origin(&host.name),
            attempt: row.attempt,
            etag: stored.etag,
            last_modified: stored.last_modified,
        })
    }
}
