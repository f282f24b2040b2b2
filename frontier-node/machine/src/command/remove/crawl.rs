//! Removing a whole crawl: host by host, then, to forget it, record by record. The crawl takes no URLs from the first slice on.

use super::{Remove, RemoveReply, apply::Quota};
use crate::{
    error::MachineError,
    keys::{
        self,
        url::{Stored, UrlRow},
    },
    limits,
    state::Crawl,
    step::Step,
};

/// First byte of a cursor: what comes next. Host id (8, big-endian) and the cursor in its schedule, or a record's key.
const HOSTS: u8 = 1;
const RECORDS: u8 = 2;

impl Step<'_> {
    pub(super) fn remove_crawl(&mut self, slice: &Remove) -> Result<RemoveReply, MachineError> {
        let Some(crawl) = self.m.crawls.get(&slice.crawl).copied() else {
            return Ok(RemoveReply {
                refused: "unknown_crawl",
                ..RemoveReply::default()
            });
        };
        if !crawl.removed || (slice.forget && !crawl.forget) {
            self.put_crawl(Crawl {
                removed: true,
                forget: crawl.forget || slice.forget,
                ..crawl
            });
        }
        let mut quota = Quota {
            removals: limits::REMOVALS_PER_SLICE,
            looks: limits::LOOKED_AT_PER_SLICE,
        };
        let mut reply = RemoveReply::default();
        reply.cursor = match slice.cursor.split_first() {
            None => self.remove_from_hosts(slice, 0, &[], &mut quota, &mut reply)?,
            Some((&HOSTS, rest)) => match rest.split_first_chunk::<8>() {
                Some((id, inner)) => self.remove_from_hosts(
                    slice,
                    u64::from_be_bytes(*id),
                    inner,
                    &mut quota,
                    &mut reply,
                )?,
                None => {
                    return Ok(RemoveReply {
                        refused: "cursor",
                        ..reply
                    });
                }
            },
            Some((&RECORDS, key)) => self.forget_records(slice, key, &mut quota)?,
            Some(_) => {
                return Ok(RemoveReply {
                    refused: "cursor",
                    ..reply
                });
            }
        };
        reply.removed = (limits::REMOVALS_PER_SLICE - quota.removals) as u64;
        Ok(reply)
    }

    fn remove_from_hosts(
        &mut self,
        slice: &Remove,
        first: u64,
        inner: &[u8],
        quota: &mut Quota,
        reply: &mut RemoveReply,
    ) -> Result<Vec<u8>, MachineError> {
        let (mut at, mut inner) = (first, inner.to_vec());
        loop {
            let Some(id) = self.m.hosts.from(at).next().map(|(id, _)| id) else {
                return Ok(if slice.forget {
                    vec![RECORDS]
                } else {
                    Vec::new()
                });
            };
            if quota.is_spent() {
                return Ok(cursor(id, if id == first { &inner } else { &[] }));
            }
            quota.looks -= 1;
            if id != first {
                inner.clear();
            }
            if inner.is_empty() {
                reply.marked += u64::from(self.mark_leased(id, slice)?);
            }
            if let Some(next) = self.remove_waiting(id, slice, &inner, quota)? {
                return Ok(cursor(id, &next));
            }
            match id.checked_add(1) {
                Some(next) => at = next,
                None => {
                    return Ok(if slice.forget {
                        vec![RECORDS]
                    } else {
                        Vec::new()
                    });
                }
            }
        }
    }

    fn forget_records(
        &mut self,
        slice: &Remove,
        from: &[u8],
        quota: &mut Quota,
    ) -> Result<Vec<u8>, MachineError> {
        let (start, to) = keys::partitions(keys::url::TAG, self.m.meta.first, self.m.meta.last);
        let from = if from > start.as_slice() && from < to.as_slice() {
            from.to_vec()
        } else {
            start
        };
        let rows = self.overlay.scan(self.rows, &from, &to, quota.looks)?;
        let mut more = rows.len() == quota.looks;
        let mut next = from;
        for (key, value) in rows {
            if quota.removals == 0 {
                more = true;
                break;
            }
            next = [key.as_slice(), &[0]].concat();
            let url: UrlRow = keys::decode(keys::url::SPACE, &value)?;
            if url.crawl != slice.crawl {
                continue;
            }
            let (partition, fingerprint) = keys::url::parse(&key)?;
            if self.remove_ended(partition, fingerprint, &url, true) {
                quota.removals -= 1;
            } else if url.state() == Stored::Removed {
                self.forget_url(partition, fingerprint);
            }
        }
        if !more {
            return Ok(Vec::new());
        }
        Ok([&[RECORDS], next.as_slice()].concat())
    }
}

fn cursor(id: u64, inner: &[u8]) -> Vec<u8> {
    [&[HOSTS], id.to_be_bytes().as_slice(), inner].concat()
}
