//! Removals, a slice at a time: nothing that is leased goes, nothing that is not meant goes.

use super::state::{Judged, Model, Url, Where, must};
use crate::{
    command::remove::{Remove, RemoveReply, Target},
    invariants::View,
    limits,
};

impl Model {
    pub fn judge_remove(&mut self, slice: &Remove, reply: &RemoveReply, after: &View) -> Judged {
        if !reply.refused.is_empty() {
            return must(self.may_refuse(slice), || {
                format!("{slice:?} was refused: {}", reply.refused)
            });
        }
        must(reply.removed <= limits::REMOVALS_PER_SLICE as u64, || {
            format!("{} removed by a slice", reply.removed)
        })?;
        if let (Some(Target::Crawl(_)), Some(crawl)) =
            (&slice.target, self.crawls.get_mut(&slice.crawl))
        {
            crawl.removed = true;
            crawl.forget |= slice.forget;
        }
        let (mut removed, mut marked, mut left) = (0, 0, 0);
        for at in (0..self.urls.len()).rev() {
            if self.urls[at].crawl != slice.crawl || !is_target(slice, &self.urls[at]) {
                continue;
            }
            match self.remove_url(at, slice, after)? {
                Removal::Removed => removed += 1,
                Removal::Marked => marked += 1,
                Removal::Left => left += 1,
                Removal::Untouched => {}
            }
        }
        must(reply.removed == removed, || {
            format!(
                "{slice:?}: removed {}, the rows say {removed}",
                reply.removed
            )
        })?;
        must(reply.marked <= marked, || {
            format!("{slice:?}: marked {}, the rows say {marked}", reply.marked)
        })?;
        must(left == 0 || !reply.cursor.is_empty(), || {
            format!("{slice:?} says it is done and {left} are left")
        })
    }

    fn may_refuse(&self, slice: &Remove) -> bool {
        let outside = |partition: u64| !self.holds(partition);
        !self.crawls.contains_key(&slice.crawl)
            || match &slice.target {
                None => true,
                Some(Target::Url(target)) => {
                    outside(target.partition)
                        || self
                            .url(target.partition, target.fingerprint)
                            .is_none_or(|url| url.crawl != slice.crawl)
                }
                Some(Target::Host(target)) => {
                    outside(target.partition) || self.host(target.partition, &target.host).is_none()
                }
                Some(Target::Crawl(_)) => false,
            }
    }

    /// A URL that ended before the shard was split off is counted when it is removed.
    fn take_over(&mut self, place: Where) {
        let count = |place: fn(&Where) -> bool| {
            self.urls.iter().filter(|url| place(&url.place)).count() as i64
        };
        let (beyond, counted) = match place {
            Where::Done => (
                &mut self.beyond.done,
                count(|place| matches!(place, Where::Done)),
            ),
            Where::Refused => (
                &mut self.beyond.refused,
                count(|place| matches!(place, Where::Refused)),
            ),
            _ => return,
        };
        if counted + *beyond == 0 {
            *beyond += 1;
            self.accepted += 1;
        }
    }

    /// Takes over what the rows say of one URL that the removal is about.
    fn remove_url(&mut self, at: usize, slice: &Remove, after: &View) -> Judged<Removal> {
        let url = &self.urls[at];
        let actual = Self::place_in(after, url.partition, url.fingerprint);
        let name = url.url.clone();
        if url.place == Where::Leased {
            must(actual == Some(Where::Leased), || {
                format!("{name} is leased and was removed as {actual:?}")
            })?;
            let (partition, fingerprint) = (url.partition, url.fingerprint);
            let row = after.leases.get(&(partition, 1, fingerprint));
            let (is_marked, forget) = row.map_or((false, false), |row| (row.removed, row.forget));
            for lease in self.leases.iter_mut().filter(|lease| {
                lease.key.kind == 1
                    && (lease.key.partition, lease.key.fingerprint) == (partition, fingerprint)
            }) {
                must(is_marked || !lease.removed, || {
                    format!("{name} lost its mark")
                })?;
                must(!forget || slice.forget || lease.forget, || {
                    format!("{name} is to be forgotten and nobody asked")
                })?;
                (lease.removed, lease.forget) = (is_marked, forget);
            }
            return Ok(if is_marked {
                Removal::Marked
            } else {
                Removal::Left
            });
        }
        let waits = matches!(url.place, Where::Queued { .. } | Where::Scheduled { .. });
        match actual {
            None if slice.forget => {
                // One that was removed before only leaves `seen`.
                let counted = url.place == Where::Removed;
                let place = url.place;
                let (partition, fingerprint) = (url.partition, url.fingerprint);
                self.take_over(place);
                self.forget(partition, fingerprint);
                Ok(if counted {
                    Removal::Untouched
                } else {
                    Removal::Removed
                })
            }
            None => Err(format!("{name} is gone and nobody asked to forget it")),
            Some(Where::Removed) if url.place != Where::Removed => {
                must(!slice.forget, || format!("{name} should be forgotten"))?;
                self.take_over(self.urls[at].place);
                self.urls[at].place = Where::Removed;
                Ok(Removal::Removed)
            }
            Some(actual) => {
                must(actual == url.place, || {
                    format!("{name} was {:?} and is {actual:?}", url.place)
                })?;
                Ok(if waits {
                    Removal::Left
                } else {
                    Removal::Untouched
                })
            }
        }
    }
}

enum Removal {
    Removed,
    Marked,
    Left,
    Untouched,
}

fn is_target(slice: &Remove, url: &Url) -> bool {
    match &slice.target {
        Some(Target::Url(target)) => {
            (target.partition, target.fingerprint) == (url.partition, url.fingerprint)
        }
        Some(Target::Host(target)) => target.partition == url.partition && target.host == url.host,
        Some(Target::Crawl(_)) => true,
        None => false,
    }
}
