//! Removing one URL, wherever it is.

use super::{Remove, RemoveReply, UrlTarget};
use crate::{
    authority::Authority,
    command::lease::{LeaseKey, LeaseKind},
    counters::Counter,
    error::MachineError,
    keys::{
        self, schedule,
        url::{Stored, UrlRow},
    },
    limits,
    step::Step,
};

impl Step<'_> {
    pub(super) fn remove_url(
        &mut self,
        slice: &Remove,
        target: &UrlTarget,
    ) -> Result<RemoveReply, MachineError> {
        let UrlTarget {
            partition,
            fingerprint,
            ..
        } = *target;
        let reply = |removed, marked| {
            Ok(RemoveReply {
                removed,
                marked,
                ..RemoveReply::default()
            })
        };
        let key = LeaseKey {
            kind: LeaseKind::Page as i32,
            partition,
            fingerprint,
        };
        if self.m.leases.get(key).is_some() {
            let (_, lease) = self.leased(key)?;
            return reply(0, u64::from(self.mark(key, lease, slice)));
        }
        if self
            .overlay
            .get(self.rows, &keys::seen::key(partition, fingerprint))?
            .is_none()
        {
            return reply(0, 0);
        }
        let Some((name, authority)) = Authority::of(&target.url) else {
            return Ok(RemoveReply {
                refused: "url",
                ..RemoveReply::default()
            });
        };
        let host = self.m.hosts.find(partition, name);
        match self.url_row(partition, fingerprint)? {
            Some(url) if url.crawl != slice.crawl => reply(0, 0),
            Some(url) if self.remove_ended(partition, fingerprint, &url, slice.forget) => {
                reply(1, 0)
            }
            Some(url) if url.state() == Stored::Removed => {
                if slice.forget {
                    self.forget_url(partition, fingerprint);
                }
                reply(0, 0)
            }
            Some(url)
                if url.state() == Stored::Scheduled
                    && self.remove_visit(host, &url, target, slice.forget)? =>
            {
                reply(1, 0)
            }
            _ => match host {
                Some(id) => self.find_and_remove(id, authority, slice, fingerprint),
                None => reply(0, 0),
            },
        }
    }

    /// Removes a URL that had ended before; says whether it had.
    pub(super) fn remove_ended(
        &mut self,
        partition: u64,
        fingerprint: u64,
        url: &UrlRow,
        forget: bool,
    ) -> bool {
        match url.state() {
            Stored::Done => self.uncount_done(partition, url),
            Stored::Refused if self.m.meta.refused > 0 => self.m.meta.refused -= 1,
            Stored::Refused => self.take_over(),
            _ => return false,
        }
        self.m.meta.removed += 1;
        if forget {
            self.forget_url(partition, fingerprint);
        } else {
            self.put_removed(partition, fingerprint, url.clone());
        }
        true
    }

    /// The host counts its pages too, so that a split can share them out.
    pub(crate) fn uncount_done(&mut self, partition: u64, url: &UrlRow) {
        let host = Authority::of(&url.url).and_then(|(name, _)| self.m.hosts.find(partition, name));
        if let Some(id) = host
            && let Some(host) = self.m.hosts.get_mut(id).filter(|host| host.done > 0)
        {
            host.done -= 1;
            self.m.touch(id);
        }
        if self.m.meta.done > 0 {
            self.m.meta.done -= 1;
        } else {
            self.take_over();
        }
    }

    /// The URL ended before this shard was split off and stands in its parent's books.
    fn take_over(&mut self) {
        self.m.meta.accepted += 1;
        self.m.count(Counter::SplitTakenOver);
    }

    fn remove_visit(
        &mut self,
        host: Option<u64>,
        url: &UrlRow,
        target: &UrlTarget,
        forget: bool,
    ) -> Result<bool, MachineError> {
        let Some(id) = host else { return Ok(false) };
        let name = self.m.hosts.host(id)?.name.clone();
        let key = schedule::key(
            target.partition,
            &name,
            url.next_visit_unix_ms,
            target.fingerprint,
        );
        if self.overlay.get(self.rows, &key)?.is_none() {
            return Ok(false);
        }
        self.overlay.delete(key);
        self.remove_scheduled(target.partition, target.fingerprint, forget)?;
        self.unschedule(id, 1)?;
        Ok(true)
    }

    /// Looks for a URL in its lane, a slice at a time: only the place in the queue knows its priority and due time.
    fn find_and_remove(
        &mut self,
        id: u64,
        authority: Authority,
        slice: &Remove,
        fingerprint: u64,
    ) -> Result<RemoveReply, MachineError> {
        let host = self.m.hosts.host(id)?;
        let (partition, name) = (host.partition, host.name.clone());
        let Some(slot) = host
            .slot(authority)
            .filter(|slot| host.lane(slice.crawl, *slot).is_some())
        else {
            return Ok(RemoveReply::default());
        };
        let (from, to) = keys::queue::lanes(partition, &name, Some(slice.crawl), Some(authority));
        let from = if slice.cursor > from && slice.cursor < to {
            slice.cursor.clone()
        } else {
            from
        };
        let rows = self
            .overlay
            .scan(self.rows, &from, &to, limits::LOOKED_AT_PER_SLICE)?;
        let last = rows
            .last()
            .filter(|_| rows.len() == limits::LOOKED_AT_PER_SLICE)
            .map(|(key, _)| [key.as_slice(), &[0]].concat());
        for (key, value) in rows {
            let place = keys::queue::parse(partition, &name, &key)?;
            if place.fingerprint == fingerprint {
                self.overlay.delete(key);
                self.remove_queued(
                    partition,
                    place,
                    keys::decode(keys::queue::SPACE, &value)?,
                    slice.forget,
                )?;
                self.shrink_lane(id, slice.crawl, slot, 1)?;
                return Ok(RemoveReply {
                    removed: 1,
                    ..RemoveReply::default()
                });
            }
        }
        Ok(RemoveReply {
            cursor: last.unwrap_or_default(),
            ..RemoveReply::default()
        })
    }
}
