//! All URLs of a shard in slices, for exports and for judging a crawl.

use super::url::{UrlRecord, UrlState, record};
use crate::{
    authority::Authority,
    command::lease::LeaseKind,
    error::MachineError,
    keys::{
        self,
        lease::LeaseRow,
        queue::QueueRow,
        url::{Stored, UrlRow},
    },
    machine::Machine,
    rows::Rows,
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
    pub fn list_urls(&self, rows: &dyn Rows, cursor: &[u8], limit: usize) -> Result<Listing, MachineError> {
        let (first, last) = self.range();
        let mut listing = Listing::default();
        let mut left = limit.max(1);
        for tag in [keys::url::TAG, keys::queue::TAG, keys::lease::TAG] {
            let (start, end) = keys::partitions(tag, first, last);
            let resumes = cursor.first() == Some(&tag);
            if !resumes && !cursor.is_empty() && position(tag) < position(cursor.first().copied().unwrap_or(tag)) {
                continue;
            }
            let from = if resumes { cursor.to_vec() } else { start };
            if left == 0 {
                listing.cursor = from;
                return Ok(listing);
            }
            let slice = rows.scan(&from, &end, left)?;
            left -= slice.len();
            for (key, value) in &slice {
                listing.urls.extend(self.listed(tag, key, value)?);
            }
            if left == 0 && let Some((key, _)) = slice.last() {
                listing.cursor = key.clone();
                listing.cursor.push(0);
                return Ok(listing);
            }
        }
        Ok(listing)
    }

    fn listed(&self, tag: u8, key: &[u8], value: &[u8]) -> Result<Option<ListedUrl>, MachineError> {
        match tag {
            keys::url::TAG => self.listed_url(key, keys::decode(keys::url::SPACE, value)?).map(Some),
            keys::queue::TAG => {
                let row: QueueRow = keys::decode(keys::queue::SPACE, value)?;
                Ok((!row.tried).then(|| page(UrlState::Queued, UrlRow::of_queue(0, 0, row))))
            }
            _ => Ok(listed_lease(keys::decode(keys::lease::SPACE, value)?)),
        }
    }

    fn listed_url(&self, key: &[u8], row: UrlRow) -> Result<ListedUrl, MachineError> {
        let (partition, fingerprint) = keys::url::parse(key)?;
        let lease = crate::command::lease::LeaseKey { kind: LeaseKind::Page as i32, partition, fingerprint };
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
    ListedUrl { url: row.url.clone(), record: record(state, row), kind: LeaseKind::Page }
}

/// A page that was tried before is listed by its `url` row.
fn listed_lease(row: LeaseRow) -> Option<ListedUrl> {
    let kind = row.key.map(|key| key.kind())?;
    let mut listed = page(UrlState::Leased, UrlRow::of_lease(&row));
    match kind {
        LeaseKind::Page if row.tried => return None,
        LeaseKind::Page => {}
        LeaseKind::Robots => listed.url = format!("{}/robots.txt", row.url),
        LeaseKind::Errand => listed.url = row.errand.map(|errand| errand.url).unwrap_or_default(),
    }
    listed.kind = kind;
    Some(listed)
}
