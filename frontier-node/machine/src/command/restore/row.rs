//! One row of a backup on its way into a new shard: checked, its stamps moved, counted in the shard's books.

use crate::{
    backup::BackupRow,
    command::{
        discover::Item,
        lease::{LeaseKey, LeaseKind},
    },
    error::MachineError,
    keys::{
        self, crawl, crawl::CrawlRow, errand, host, host::HostRow, lease, lease::LeaseRow,
        meta::MetaRow, outbox, queue, robots, robots_body, robots_reference, schedule, seen, url,
        url::Stored, url::UrlRow,
    },
    limits,
    state::Policy,
    step::Step,
};
use prost::Message;

/// What is to be done with a row.
pub(super) enum Taken {
    /// It is written and counted.
    Row(BackupRow, Book),
    /// A lease that was out: it gets a token of its own.
    Lease(LeaseKey, Box<LeaseRow>),
    /// A crawl's policy, which every source has.
    Crawl(u32, CrawlRow),
}

/// Which of the shard's books it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Book {
    Nothing,
    Queued,
    Scheduled,
    Done,
    Removed,
    Refused,
    Outbox,
}

impl Taken {
    /// Judges a row; the shard's time is `shift_ms` ahead of that of its source.
    pub(super) fn of(meta: &MetaRow, shift_ms: u64, row: BackupRow) -> Result<Self, MachineError> {
        let BackupRow { key, value } = row;
        let tag = key.first().copied().unwrap_or_default();
        let number = keys::number_at("backup", &key, 1)?;
        if tag == crawl::TAG {
            return crawl_of(&key, &value);
        }
        if !(meta.first..=meta.last).contains(&number) {
            return Err(MachineError::corrupt(
                "backup",
                "a row outside of the range",
            ));
        }
        let plain = |key, value, book| Ok(Self::Row(BackupRow { key, value }, book));
        match tag {
            host::TAG => {
                let mut row: HostRow = keys::decode(host::SPACE, &value)?;
                shift_host(&mut row, shift_ms);
                plain(key, row.encode_to_vec(), Book::Nothing)
            }
            queue::TAG => {
                let _: queue::QueueRow = keys::decode(queue::SPACE, &value)?;
                plain(key, value, Book::Queued)
            }
            schedule::TAG => {
                let _: schedule::ScheduleRow = keys::decode(schedule::SPACE, &value)?;
                plain(key, value, Book::Scheduled)
            }
            lease::TAG => lease_of(&value, number, shift_ms),
            seen::TAG if key.len() == 17 => plain(key, Vec::new(), Book::Nothing),
            url::TAG => {
                url::parse(&key)?;
                let row: UrlRow = keys::decode(url::SPACE, &value)?;
                plain(key, value, book_of(&row))
            }
            outbox::TAG if outbox::partition(&key).is_some() => {
                let _: Item = keys::decode(outbox::SPACE, &value)?;
                plain(key, value, Book::Outbox)
            }
            errand::TAG => {
                let _: errand::ErrandRow = keys::decode(errand::SPACE, &value)?;
                plain(key, value, Book::Nothing)
            }
            robots::TAG => {
                let _: robots::RobotsRow = keys::decode(robots::SPACE, &value)?;
                plain(key, value, Book::Nothing)
            }
            robots_body::TAG if value.len() <= limits::ROBOTS_BODY_SIZE_BYTES => {
                plain(key, value, Book::Nothing)
            }
            robots_reference::TAG if key.len() == 49 => plain(key, value, Book::Nothing),
            _ => Err(MachineError::corrupt("backup", "a row of no known space")),
        }
    }
}

impl Step<'_> {
    pub(super) fn take_row(&mut self, taken: Taken) -> Result<(), MachineError> {
        match taken {
            Taken::Row(BackupRow { key, value }, book) => self.take_plain(key, value, book),
            Taken::Lease(key, lease) => {
                self.take_lease(key, *lease);
                Ok(())
            }
            Taken::Crawl(crawl, row) => self.take_crawl(crawl, row),
        }
    }

    fn take_plain(&mut self, key: Vec<u8>, value: Vec<u8>, book: Book) -> Result<(), MachineError> {
        // What waited when the backup began may wait at the cut still.
        if book == Book::Outbox && self.overlay.get(self.rows, &key)?.is_some() {
            return Ok(());
        }
        let meta = &mut self.m.meta;
        let term = match book {
            Book::Nothing => None,
            Book::Queued => Some(&mut meta.queued),
            Book::Scheduled => Some(&mut meta.scheduled),
            Book::Done => Some(&mut meta.done),
            Book::Removed => Some(&mut meta.removed),
            Book::Refused => Some(&mut meta.refused),
            Book::Outbox => {
                meta.outbox_in += 1;
                meta.outbox_waiting += 1;
                None
            }
        };
        if let Some(term) = term {
            *term += 1;
            meta.accepted += 1;
        }
        self.overlay.put(key, value);
        Ok(())
    }

    /// Leases of several sources may have had the same token, and their holders are to hear that they are lost.
    fn take_lease(&mut self, key: LeaseKey, mut lease: LeaseRow) {
        let meta = &mut self.m.meta;
        meta.token += 1;
        lease.token = meta.token;
        if key.kind() == LeaseKind::Page {
            meta.leased += 1;
            meta.accepted += 1;
        }
        self.overlay
            .put(keys::lease::key(key), lease.encode_to_vec());
    }

    /// Where the sources differ a change was under way: removed is removed, and of two policies the one with the longer delay
    /// holds.
    fn take_crawl(&mut self, crawl: u32, row: CrawlRow) -> Result<(), MachineError> {
        let key = keys::crawl::key(self.m.shard, crawl);
        let known: Option<CrawlRow> = self.read(crawl::SPACE, &key)?;
        let row = match known {
            None => row,
            Some(known) => CrawlRow {
                policy: [known.policy, row.policy]
                    .into_iter()
                    .flatten()
                    .max_by_key(|given| Policy::of(given).min_delay_ms),
                removed: known.removed || row.removed,
                forget: known.forget || row.forget,
            },
        };
        self.overlay.put(key, row.encode_to_vec());
        Ok(())
    }
}

fn crawl_of(key: &[u8], value: &[u8]) -> Result<Taken, MachineError> {
    let number = key.get(9..13).and_then(|bytes| bytes.try_into().ok());
    let number = number
        .map(u32::from_be_bytes)
        .ok_or_else(|| MachineError::corrupt(crawl::SPACE, "key"))?;
    let row: CrawlRow = keys::decode(crawl::SPACE, value)?;
    if row.policy.is_none_or(|given| given.crawl != number) {
        return Err(MachineError::corrupt(crawl::SPACE, "policy"));
    }
    Ok(Taken::Crawl(number, row))
}

fn lease_of(value: &[u8], partition: u64, shift_ms: u64) -> Result<Taken, MachineError> {
    let mut row: LeaseRow = keys::decode(lease::SPACE, value)?;
    let key = row
        .key
        .filter(|key| key.partition == partition && LeaseKind::try_from(key.kind).is_ok());
    let key = key.ok_or_else(|| MachineError::corrupt(lease::SPACE, "key"))?;
    for stamp in [&mut row.granted_ms, &mut row.deadline_ms] {
        *stamp = stamp.saturating_add(shift_ms);
    }
    Ok(Taken::Lease(key, Box::new(row)))
}

fn book_of(row: &UrlRow) -> Book {
    match row.state() {
        Stored::Done => Book::Done,
        Stored::Removed => Book::Removed,
        Stored::Refused => Book::Refused,
        // Counted with the row of its place.
        Stored::Waiting | Stored::Scheduled => Book::Nothing,
    }
}

/// All stamps of shard time that a host's row has, but those of its lanes' heads: they say in which order URLs came, and
/// stand in the keys of the queue too.
fn shift_host(row: &mut HostRow, shift_ms: u64) {
    let HostRow {
        authorities,
        last_contact_ms,
        back_off_until_ms,
        since_ms,
        blocked_until_ms,
        kept_until_ms,
        ..
    } = row;
    let stamps = [back_off_until_ms, since_ms, blocked_until_ms, kept_until_ms];
    // 0 stands for none.
    let stamps = stamps.into_iter().filter(|stamp| **stamp != 0);
    let tries = authorities.iter_mut();
    // Unreachable and pending: the next try.
    let tries = tries.filter(|known| known.phase > 1 && known.until_ms != 0);
    let tries = tries.map(|known| &mut known.until_ms);
    for stamp in stamps.chain(last_contact_ms.as_mut()).chain(tries) {
        *stamp = stamp.saturating_add(shift_ms);
    }
}
