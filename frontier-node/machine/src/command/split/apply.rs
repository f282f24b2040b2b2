//! Applying `split`: judge, divide what is in memory, write the rows that are keyed by the shards' numbers.

use super::{Split, SplitDone, SplitRefusal, SplitReply};
use crate::{
    command::lease::LeaseKind,
    counters::Counter,
    error::MachineError,
    keys::{
        self,
        meta::{MetaRow, SplitRow},
    },
    limits,
    machine::Machine,
    shard_id::ShardId,
    state::{Hosts, Index, Leases, OutboxSites},
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn split(&mut self, split: &Split) -> Result<SplitReply, MachineError> {
        if let Some(done) = self.m.repeated(split) {
            return Ok(SplitReply::Done(done));
        }
        if let Some(refusal) = self.m.split_refusal(split) {
            return Ok(SplitReply::Refused(refusal));
        }
        // Due work and earlier commands of the entry may have changed hosts that leave now.
        self.write_hosts();
        let row = SplitRow {
            child: split.child,
            at: split.at,
            last: self.m.meta.last,
            epoch: split.epoch,
        };
        let child = self.m.divide(row)?;
        for crawl in child.crawls.values() {
            self.overlay.put(
                keys::crawl::key(child.shard, crawl.given.crawl),
                crawl.to_row().encode_to_vec(),
            );
        }
        self.overlay
            .put(keys::meta::key(child.shard), child.meta.encode_to_vec());
        self.m.children.push(child);
        self.m.count(Counter::Splits);
        Ok(SplitReply::Done(done(&row)))
    }
}

impl Machine {
    /// The splits of this shard that it remembers, the last [`limits::SPLITS_REMEMBERED`], in order: whoever holds a replica of
    /// the shard makes one of each child.
    pub fn splits(&self) -> Vec<SplitDone> {
        self.meta.splits.iter().map(done).collect()
    }

    /// An earlier attempt of the same split, whatever epoch this one carries.
    fn repeated(&self, split: &Split) -> Option<SplitDone> {
        let same = |row: &&SplitRow| row.child == split.child && row.at == split.at;
        self.meta.splits.iter().find(same).map(done)
    }

    fn split_refusal(&self, split: &Split) -> Option<SplitRefusal> {
        let meta = &self.meta;
        if let Some(other) = meta.splits.iter().find(|row| row.epoch == split.epoch) {
            return Some(SplitRefusal::OtherSplit { done: done(other) });
        }
        if split.epoch < meta.epoch || split.epoch == u64::MAX {
            return Some(SplitRefusal::StaleEpoch { epoch: meta.epoch });
        }
        if split.child == 0 {
            return Some(SplitRefusal::UnknownChild);
        }
        let newest = meta.splits.last().map_or(0, |row| row.child);
        if split.child <= newest.max(self.shard.0) {
            return Some(SplitRefusal::UsedChild);
        }
        if !self.holds(split.at) {
            let (first, last) = self.range();
            return Some(SplitRefusal::OutsideRange { first, last });
        }
        (split.at == meta.first).then_some(SplitRefusal::NothingLeft)
    }

    /// Takes the upper part of the range out. Both machines are what a rebuild from their rows would give. Looks at every host
    /// and lease in memory and at no row.
    fn divide(&mut self, row: SplitRow) -> Result<Self, MachineError> {
        let mut child = Self::empty(ShardId(row.child), MetaRow::default());
        child.crawls = self.crawls.clone();
        child.hosts = self.hosts.split_off(row.at);
        child.leases = self.leases.split_off(row.at);
        child.outbox = self.outbox.split_off(row.at);
        child.meta = self.child_meta(&row, &child.hosts, &child.leases, &child.outbox);
        child.add(Counter::HostsInherited, child.hosts.len() as u64);
        self.add(Counter::HostsSplitOff, child.hosts.len() as u64);
        take_from(&mut self.meta, &child.meta)?;
        self.meta.last = row.at - 1;
        self.meta.epoch = child.meta.epoch;
        if self.meta.splits.len() >= limits::SPLITS_REMEMBERED {
            self.meta.splits.remove(0);
        }
        self.meta.splits.push(row);
        self.index = Index::of(&mut self.hosts);
        child.index = Index::of(&mut child.hosts);
        Ok(child)
    }

    /// The child's books are what its hosts, leases and outbox rows say. A host that counts more pages than the shard has
    /// in its books was left by a version that did not count removals there.
    fn child_meta(
        &self,
        row: &SplitRow,
        hosts: &Hosts,
        leases: &Leases,
        outbox: &OutboxSites,
    ) -> MetaRow {
        let meta = &self.meta;
        let sum = |of: fn(&crate::state::Host) -> u32| {
            hosts.from(0).map(|(_, host)| u64::from(of(host))).sum()
        };
        let queued: u64 = sum(|host| host.queued());
        let scheduled: u64 = sum(|host| host.scheduled);
        let done: u64 = sum(|host| host.done);
        let done = done.min(meta.done);
        let pages = leases.keys().filter(|key| key.kind() == LeaseKind::Page);
        let leased = pages.count() as u64;
        MetaRow {
            first: row.at,
            last: row.last,
            now_ms: meta.now_ms,
            wall_unix_ms: meta.wall_unix_ms,
            token: meta.token,
            outbox_sequence: meta.outbox_sequence,
            outbox_waiting: outbox.waiting(),
            outbox_in: outbox.waiting(),
            accepted: queued + scheduled + leased + done,
            queued,
            scheduled,
            leased,
            done,
            epoch: row.epoch + 1,
            split_from: Some(self.shard.0),
            recovery: meta.recovery,
            paused: meta.paused,
            dead_stores: meta.dead_stores.clone(),
            ..MetaRow::default()
        }
    }
}

/// What the child has in its books the parent has no more.
fn take_from(meta: &mut MetaRow, child: &MetaRow) -> Result<(), MachineError> {
    for (term, part) in [
        (&mut meta.accepted, child.accepted),
        (&mut meta.queued, child.queued),
        (&mut meta.scheduled, child.scheduled),
        (&mut meta.leased, child.leased),
        (&mut meta.done, child.done),
        (&mut meta.outbox_in, child.outbox_in),
        (&mut meta.outbox_waiting, child.outbox_waiting),
    ] {
        *term = term.checked_sub(part).ok_or(MachineError::Invariant(
            "hosts have more than the shard's books",
        ))?;
    }
    Ok(())
}

fn done(row: &SplitRow) -> SplitDone {
    SplitDone {
        child: ShardId(row.child),
        at: row.at,
        last: row.last,
        epoch: row.epoch + 1,
    }
}
