//! All URLs of a shard in slices, for exports and for judging a crawl.

use super::url::{UrlRecord, UrlState, record};
use crate::{
    command::lease::{LeaseKey, LeaseKind},
    error::MachineError,
    keys::{
        self,
        lease::LeaseRow,
        queue::QueueRow,
        url::{Stored, UrlRow},
    },
    machine::Machine,
    rows::Rows,
    state::hosts,
};

/// One URL of the shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUrl {
    /// The canonical URL; of a robots or errand lease the URL that is fetched.
    pub url: String,
    /// What is known of it; a robots or errand lease has only its state.
    pub record: UrlRecord,
    /// Whether it is a page, a robots.txt or an errand. The latter two are listed only while leased.
    pub kind: LeaseKind,
}

/// A slice of the listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// URLs, each page once over the whole listing of an unchanging shard.
    pub urls: Vec<ListedUrl>,
    /// Continues the listing; empty at its end.
    pub cursor: Vec<u8>,
}

impl Machine {
    /// URLs from `cursor` on (empty: from the start), from at most `limit` rows.
    pub fn list_urls(
        &self,
        rows: &dyn Rows,
        cursor: &[u8],
        limit: usize,
    ) -> Result<Listing, MachineError> {
        let (first, last) = self.range();
        let mut listing = Listing::default();
        let mut left = limit.max(1);
        for tag in [keys::url::TAG, keys::queue::TAG, keys::lease::TAG] {
            let (start, end) = keys::partitions(tag, first, last);
            let resumes = cursor.first() == Some(&tag);
            if !resumes
                && !cursor.is_empty()
                && position(tag) < position(cursor.first().copied().unwrap_or(tag))
            {
                continue;
            }
            let from = if resumes { cursor.to_vec() } else { start };
            if left == 0 {
                listing.cursor = from;
                return Ok(listing);
            }
            // A cursor from before a split may lie in what is the child's now.
            if from >= end {
                continue;
            }
            let slice = rows.scan(&from, &end, left)?;
            left -= slice.len();
            for (key, value) in &slice {
                listing.urls.extend(self.listed(tag, key, value)?);
            }
            if left == 0
                && let Some((key, _)) = slice.last()
            {
                listing.cursor = key.clone();
                listing.cursor.push(0);
                return Ok(listing);
            }
        }
        Ok(listing)
    }

    fn listed(&self, tag: u8, key: &[u8], value: &[u8]) -> Result<Option<ListedUrl>, MachineError> {
        match tag {
            keys::url::TAG => self
                .listed_url(key, keys::decode(keys::url::SPACE, value)?)
                .map(Some),
            keys::queue::TAG => {
                let row: QueueRow = keys::decode(keys::queue::SPACE, value)?;
                Ok((!row.tried).then(|| page(UrlState::Queued, UrlRow::of_queue(0, 0, row))))
            }
            _ => self.listed_lease(keys::decode(keys::lease::SPACE, value)?),
        }
    }

    fn listed_url(&self, key: &[u8], row: UrlRow) -> Result<ListedUrl, MachineError> {
        let (partition, fingerprint) = keys::url::parse(key)?;
        let lease = LeaseKey {
            kind: LeaseKind::Page as i32,
            partition,
            fingerprint,
        };
        let state = match row.state() {
            _ if self.leases.get(lease).is_some() => UrlState::Leased,
            Stored::Done => UrlState::Done,
            Stored::Removed => UrlState::Removed,
            Stored::Refused => UrlState::Refused,
            Stored::Scheduled => UrlState::Scheduled,
            Stored::Waiting => UrlState::Queued,
        };
        Ok(page(state, row))
    }

    /// A page that was tried before is listed by its `url` row.
    fn listed_lease(&self, row: LeaseRow) -> Result<Option<ListedUrl>, MachineError> {
        let Some(key) = row.key else { return Ok(None) };
        let mut listed = page(UrlState::Leased, UrlRow::of_lease(&row));
        match key.kind() {
            LeaseKind::Page if row.tried => return Ok(None),
            LeaseKind::Page => {}
            LeaseKind::Robots => {
                let (id, slot) = hosts::of_robots_id(key.fingerprint);
                let host = self.hosts.host(id)?;
                let origin = host
                    .authorities
                    .get(usize::from(slot))
                    .map(|known| known.authority.origin(&host.name));
                listed.url = origin
                    .map(|origin| format!("{origin}/robots.txt"))
                    .unwrap_or_default();
            }
            LeaseKind::Errand => {
                listed.url = row.errand.map(|errand| errand.url).unwrap_or_default()
            }
        }
        listed.kind = key.kind();
        Ok(Some(listed))
    }
}

/// Order in which the spaces are listed.
fn position(tag: u8) -> usize {
    match tag {
        keys::url::TAG => 0,
        keys::queue::TAG => 1,
        _ => 2,
    }
}

fn page(state: UrlState, row: UrlRow) -> ListedUrl {
    ListedUrl {
        url: row.url.clone(),
        record: record(state, row),
        kind: LeaseKind::Page,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::testing::{Shard, answered, stored};
    use std::collections::BTreeMap;

    /// One URL done, one leased for the first time, one queued, and a robots.txt leased at another host.
    fn shard() -> Shard {
        let mut shard = Shard::new();
        shard.add_allowed(&[
            "http://a.example/1",
            "http://a.example/2",
            "http://a.example/3",
        ]);
        let (lease, _) = shard.lease_page();
        shard.close(&lease, answered(0), stored(1));
        shard.pass(10_000);
        shard.add(&["http://b.example/"]);
        assert_eq!(shard.lease(2).len(), 2);
        shard
    }

    #[test]
    fn every_url_once_with_its_state() {
        let shard = shard();
        let whole = shard.m.list_urls(&shard.rows, &[], 1_000).unwrap();
        assert!(whole.cursor.is_empty());
        let mut states: BTreeMap<(&str, UrlState), usize> = BTreeMap::new();
        for listed in &whole.urls {
            let (_, rest) = listed.url.split_once("://").unwrap();
            let name = if rest.ends_with("robots.txt") {
                rest
            } else {
                rest.split('/').next().unwrap()
            };
            *states.entry((name, listed.record.state)).or_default() += 1;
        }
        let expected = BTreeMap::from([
            (("a.example", UrlState::Done), 1),
            (("a.example", UrlState::Leased), 1),
            (("a.example", UrlState::Queued), 1),
            (("b.example", UrlState::Queued), 1),
            (("b.example/robots.txt", UrlState::Leased), 1),
        ]);
        assert_eq!(states, expected);
    }

    #[test]
    fn any_slicing_gives_the_same() {
        let shard = shard();
        let whole = shard.m.list_urls(&shard.rows, &[], 1_000).unwrap();
        for slice in 1..5 {
            let (mut urls, mut cursor) = (Vec::new(), Vec::new());
            loop {
                let listing = shard.m.list_urls(&shard.rows, &cursor, slice).unwrap();
                urls.extend(listing.urls);
                cursor = listing.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(urls, whole.urls, "slices of {slice}");
        }
    }
}
