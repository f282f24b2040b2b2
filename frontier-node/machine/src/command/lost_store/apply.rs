//! Applying one slice.

use super::{LostStore, LostStoreReply};
use crate::{
    authority::Authority,
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        queue::QueueRow,
        schedule,
        url::{Stored, UrlRow},
    },
    limits,
    machine::Machine,
    step::{Queued, Step},
};

/// What became of one URL.
enum Fate {
    Requeued,
    Waiting,
    Ended,
}

impl Machine {
    /// Stores that are gone for good, by id.
    pub fn dead_stores(&self) -> &[u32] {
        &self.meta.dead_stores
    }

    /// Whether a page is in dead stores alone.
    pub(crate) fn is_lost(&self, stores: &[u32]) -> bool {
        let is_dead = |store: &u32| self.meta.dead_stores.binary_search(store).is_ok();
        !stores.is_empty() && stores.iter().all(is_dead)
    }
}

impl Step<'_> {
    pub(crate) fn lost_store(&mut self, slice: &LostStore) -> Result<LostStoreReply, MachineError> {
        let mut reply = LostStoreReply {
            refused: self.note_dead(slice.store),
            ..LostStoreReply::default()
        };
        if slice.sweep && reply.refused.is_empty() {
            self.sweep(slice, &mut reply)?;
        }
        Ok(reply)
    }

    /// Why the store cannot be noted; empty when it is.
    fn note_dead(&mut self, store: u32) -> &'static str {
        let dead = &mut self.m.meta.dead_stores;
        match dead.binary_search(&store) {
            _ if store == 0 => "store_id",
            Ok(_) => "",
            Err(_) if dead.len() >= limits::DEAD_STORES => "too_many_dead_stores",
            Err(at) => {
                dead.insert(at, store);
                ""
            }
        }
    }

    fn sweep(&mut self, slice: &LostStore, reply: &mut LostStoreReply) -> Result<(), MachineError> {
        let (first, last) = self.m.range();
        let (start, end) = keys::partitions(keys::url::TAG, first, last);
        let from = slice.cursor.clone().max(start);
        // A cursor from before a split may lie in what is the child's now.
        if from >= end {
            return Ok(());
        }
        let most = limits::LOOKED_AT_PER_SLICE;
        let rows = self.overlay.scan(self.rows, &from, &end, most)?;
        let is_full = rows.len() == most;
        let mut changed = 0;
        for (key, value) in rows {
            reply.cursor = [key.as_slice(), &[0]].concat();
            let url: UrlRow = keys::decode(keys::url::SPACE, &value)?;
            if !url.stores.contains(&slice.store) || !self.m.is_lost(&url.stores) {
                continue;
            }
            let (partition, fingerprint) = keys::url::parse(&key)?;
            match self.lose(partition, fingerprint, url)? {
                Fate::Requeued => reply.requeued += 1,
                Fate::Waiting => reply.waiting += 1,
                Fate::Ended => reply.ended += 1,
            }
            changed += 1;
            if changed == limits::REMOVALS_PER_SLICE {
                return Ok(());
            }
        }
        if !is_full {
            reply.cursor.clear();
        }
        Ok(())
    }

    fn lose(
        &mut self,
        partition: u64,
        fingerprint: u64,
        mut url: UrlRow,
    ) -> Result<Fate, MachineError> {
        url.lost_digest = std::mem::take(&mut url.digest);
        url.stores.clear();
        url.etag.clear();
        url.last_modified.clear();
        let is_wanted = !(self.m.crawls.get(&url.crawl)).is_none_or(|crawl| crawl.removed);
        let fate = match url.state() {
            Stored::Removed | Stored::Refused => Fate::Ended,
            Stored::Waiting => Fate::Waiting,
            Stored::Scheduled if !self.is_scheduled(partition, fingerprint, &url)? => Fate::Waiting,
            Stored::Done | Stored::Scheduled if !is_wanted => Fate::Ended,
            Stored::Done | Stored::Scheduled => {
                self.fetch_again(partition, fingerprint, &mut url)?
            }
        };
        self.put_url(partition, fingerprint, &url);
        Ok(fate)
    }

    /// A visit that came due left its record alone.
    fn is_scheduled(
        &self,
        partition: u64,
        fingerprint: u64,
        url: &UrlRow,
    ) -> Result<bool, MachineError> {
        let key = visit_key(partition, fingerprint, url);
        Ok(match key {
            Some(key) => self.overlay.get(self.rows, &key)?.is_some(),
            None => false,
        })
    }

    /// Queues a URL that had ended or waited for its visit. Where its host has no room for its authority (any more) it ends.
    fn fetch_again(
        &mut self,
        partition: u64,
        fingerprint: u64,
        url: &mut UrlRow,
    ) -> Result<Fate, MachineError> {
        let Some((name, authority)) = Authority::of(&url.url) else {
            return Err(MachineError::corrupt(keys::url::SPACE, "no URL"));
        };
        let found = self.m.hosts.find(partition, name);
        if url.state() == Stored::Done {
            self.uncount_done(partition, url);
        } else if let (Some(id), Some(key)) = (found, visit_key(partition, fingerprint, url)) {
            self.overlay.delete(key);
            self.unschedule(id, 1)?;
        }
        url.next_visit_unix_ms = 0;
        let slot = match found.or_else(|| self.new_host(partition, name)) {
            Some(id) => self.slot(id, authority)?.map(|slot| (id, slot)),
            None => None,
        };
        let Some((id, slot)) = slot else {
            url.state = Stored::Refused as i32;
            url.last_reason = "lost_store".into();
            self.m.meta.refused += 1;
            return Ok(Fate::Ended);
        };
        url.state = Stored::Waiting as i32;
        let queued = Queued {
            crawl: url.crawl,
            slot,
            priority: url.priority.min(255) as u8,
            due_ms: self.now_ms,
            fingerprint,
        };
        let row = QueueRow {
            tried: true,
            ..QueueRow::default()
        };
        self.enqueue(id, queued, &row)?;
        self.m.count(Counter::LostStoreRequeued);
        Ok(Fate::Requeued)
    }
}

fn visit_key(partition: u64, fingerprint: u64, url: &UrlRow) -> Option<Vec<u8>> {
    let (name, _) = Authority::of(&url.url)?;
    let at_unix_ms = url.next_visit_unix_ms;
    Some(schedule::key(partition, name, at_unix_ms, fingerprint))
}
