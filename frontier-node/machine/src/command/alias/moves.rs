//! Moving what waits at an aliased host, a slice an entry.

use super::apply::moved;
use crate::{
    command::discover::{Item, ItemKind, Link},
    counters::Counter,
    error::MachineError,
    keys::{
        self, schedule,
        url::{Stored, UrlRow},
    },
    limits,
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn move_aliased(&mut self) -> Result<(), MachineError> {
        for _ in 0..limits::MOVES_PER_ENTRY {
            let Some(id) = self.m.index.next_aliased() else {
                break;
            };
            if self.m.meta.outbox_waiting >= limits::OUTBOX_ROWS {
                break;
            }
            self.move_one(id)?;
        }
        Ok(())
    }

    /// The head of a queue, or else the first visit.
    fn move_one(&mut self, id: u64) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let partition = host.partition;
        let Some(lane) = host.lanes.first().copied() else {
            return self.move_visit(id);
        };
        let (place, row) = self.take_head(id, lane.crawl, lane.slot)?;
        let url = if row.tried {
            self.tried_url(partition, place.fingerprint)?
        } else {
            UrlRow::of_queue(place.crawl, place.priority, row)
        };
        self.send(id, place.fingerprint, url)
    }

    fn move_visit(&mut self, id: u64) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let (partition, name) = (host.partition, host.name.clone());
        let (from, to) = schedule::of_host(partition, &name);
        let first = self.overlay.scan(self.rows, &from, &to, 1)?;
        let first = first.into_iter().next();
        let (key, _) = first.ok_or(MachineError::Invariant("a counted visit has no row"))?;
        let (_, fingerprint) = schedule::parse(&name, &key)?;
        self.overlay.delete(key);
        self.unschedule(id, 1)?;
        let url = self.tried_url(partition, fingerprint)?;
        self.send(id, fingerprint, url)
    }

    /// Closes a URL here and puts its new name into the outbox. One that would be too long ends with that reason.
    fn send(&mut self, id: u64, fingerprint: u64, mut url: UrlRow) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let partition = host.partition;
        url.next_visit_unix_ms = 0;
        match moved(host, &url.url) {
            Some((to, to_partition)) => {
                let link = link(&url, to.clone(), to_partition);
                self.put_outbox(partition, &link);
                url.state = Stored::Removed as i32;
                url.last_reason = "aliased".into();
                url.redirect_target = to;
                self.m.meta.removed += 1;
                self.m.count(Counter::AliasMoved);
            }
            None => {
                url.state = Stored::Refused as i32;
                url.last_reason = "alias_too_long".into();
                self.m.meta.refused += 1;
            }
        }
        self.put_url(partition, fingerprint, &url);
        Ok(())
    }

    fn put_outbox(&mut self, partition: u64, item: &Item) {
        self.m.outbox.put(partition, 1);
        let meta = &mut self.m.meta;
        meta.outbox_sequence += 1;
        meta.outbox_in += 1;
        meta.outbox_waiting += 1;
        self.overlay.put(
            keys::outbox::key(partition, meta.outbox_sequence),
            item.encode_to_vec(),
        );
    }
}

/// Its fingerprint is its new owner's to compute.
fn link(url: &UrlRow, to: String, to_partition: u64) -> Item {
    Item {
        kind: Some(ItemKind::Link(Link {
            crawl: url.crawl,
            url: to,
            partition: to_partition,
            fingerprint: 0,
            priority: url.priority,
            depth: url.depth,
            redirect_hops: url.redirect_hops,
            metadata: url.metadata.clone(),
            queue_key: url.queue_key.clone(),
        })),
    }
}
