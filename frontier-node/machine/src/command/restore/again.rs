//! `again`: pages whose links may be missing go back to the queue.

use super::{Again, Page, RestoreReply, apply::done, apply::refused};
use crate::{
    authority::Authority,
    error::MachineError,
    keys::{
        meta::RestoreRow,
        queue::QueueRow,
        schedule,
        url::{Stored, UrlRow},
    },
    limits,
    step::{Queued, Step},
};

impl Step<'_> {
    pub(super) fn restore_again(
        &mut self,
        restore: &RestoreRow,
        again: &Again,
    ) -> Result<RestoreReply, MachineError> {
        if again.pages.len() > limits::DISCOVER_ITEMS {
            return Ok(refused("too many pages at once"));
        }
        if again.pages.iter().any(|page| !self.m.holds(page.partition)) {
            return Ok(refused("a page outside of the range"));
        }
        let mut queued = 0;
        for page in &again.pages {
            queued += u64::from(self.queue_again(page)?);
        }
        Ok(done(restore, queued))
    }

    fn queue_again(&mut self, page: &Page) -> Result<bool, MachineError> {
        let Page {
            partition,
            fingerprint,
        } = *page;
        let Some(mut url) = self.url_row(partition, fingerprint)? else {
            return Ok(false);
        };
        let crawl = self.m.crawls.get(&url.crawl);
        if crawl.is_none_or(|crawl| crawl.removed) {
            return Ok(false);
        }
        let Some((name, authority)) = Authority::of(&url.url) else {
            return Ok(false);
        };
        let found = self.m.hosts.find(partition, name);
        let Some(id) = found.or_else(|| self.new_host(partition, name)) else {
            return Ok(false);
        };
        let Some(slot) = self.slot(id, authority)? else {
            return Ok(false);
        };
        if !self.take_out(id, fingerprint, &url)? {
            return Ok(false);
        }
        url.state = Stored::Waiting as i32;
        (url.next_visit_unix_ms, url.attempts) = (0, 0);
        // An unchanged page would not be read, and its links are what is wanted.
        (url.etag, url.last_modified) = (String::new(), String::new());
        self.put_url(partition, fingerprint, &url);
        let queued = Queued {
            crawl: url.crawl,
            slot,
            priority: url.priority.min(255) as u8,
            due_ms: self.now_ms,
            fingerprint,
        };
        let tried = QueueRow {
            tried: true,
            ..QueueRow::default()
        };
        self.enqueue(id, queued, &tried)?;
        Ok(true)
    }

    /// Takes a page from where it ended; says whether it had.
    fn take_out(&mut self, id: u64, fingerprint: u64, url: &UrlRow) -> Result<bool, MachineError> {
        match url.state() {
            Stored::Done => {
                let below_zero = MachineError::Invariant("fewer pages are done than have records");
                self.m.meta.done = self.m.meta.done.checked_sub(1).ok_or(below_zero)?;
                self.m
                    .change(id, |host, _| host.done = host.done.saturating_sub(1))?;
                Ok(true)
            }
            Stored::Scheduled => {
                let host = self.m.hosts.host(id)?;
                let due_unix_ms = url.next_visit_unix_ms;
                let key = schedule::key(host.partition, &host.name, due_unix_ms, fingerprint);
                if self.overlay.get(self.rows, &key)?.is_none() {
                    return Ok(false);
                }
                self.overlay.delete(key);
                self.unschedule(id, 1)?;
                Ok(true)
            }
            Stored::Waiting | Stored::Removed | Stored::Refused => Ok(false),
        }
    }
}
