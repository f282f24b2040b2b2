//! Applying `restore`: each step in its stage, checked before anything changes.

use super::{
    Begin, Restore, RestoreDone, RestoreReply, RestoreState, Rows, Stage, Step as Part, row::Taken,
};
use crate::{
    backup::RowList, error::MachineError, keys, keys::meta::RestoreRow, limits, machine::Machine,
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn restore(&mut self, restore: &Restore) -> Result<RestoreReply, MachineError> {
        let Some(part) = &restore.step else {
            return Ok(refused("a restore without a step"));
        };
        if let Part::Begin(begin) = part {
            return Ok(self.begin_restore(restore.id, begin));
        }
        let Some(row) = self.m.meta.restore.filter(|row| row.id == restore.id) else {
            return Ok(refused("this restore was not begun here"));
        };
        match (part, row.stage()) {
            (Part::Rows(rows), Stage::Filling) => self.take_rows(&row, rows),
            // Repeats of what is done.
            (Part::Rows(rows), _) if rows.sequence <= row.sequence => Ok(done(&row, 0)),
            (Part::Build(_), Stage::Filling) => self.build(&row),
            (Part::Build(_), _) | (Part::Close(_), Stage::Closed) => Ok(done(&row, 0)),
            (Part::Again(again), Stage::Built) => self.restore_again(&row, again),
            (Part::Close(_), Stage::Built) => Ok(self.close_restore(row)),
            (_, stage) => Ok(refused(format!("the restore is {stage:?} here"))),
        }
    }

    fn begin_restore(&mut self, id: u64, begin: &Begin) -> RestoreReply {
        if let Some(row) = self.m.meta.restore.filter(|row| row.id == id && id != 0) {
            return done(&row, 0);
        }
        if let Some(reason) = self.m.why_not_empty() {
            return refused(reason);
        }
        if id == 0 {
            return refused("the restore has no id");
        }
        // Nobody holds a lease of an empty shard, and calls may be numbered anew.
        while let Some((_, session)) = self.m.sessions.first() {
            self.m.sessions.remove(&session);
            self.overlay
                .delete(keys::session::key(self.m.shard, &session));
        }
        let meta = &mut self.m.meta;
        meta.now_ms = meta.now_ms.max(begin.now_ms);
        meta.token = begin.token;
        meta.outbox_sequence = begin.outbox_sequence;
        (meta.paused, meta.dead_stores) = (begin.paused, begin.dead_stores.clone());
        let row = RestoreRow {
            id,
            stage: Stage::Filling as i32,
            sequence: 0,
            now_ms: meta.now_ms,
        };
        meta.restore = Some(row);
        done(&row, 0)
    }

    fn take_rows(
        &mut self,
        restore: &RestoreRow,
        batch: &Rows,
    ) -> Result<RestoreReply, MachineError> {
        if batch.sequence <= restore.sequence {
            return Ok(done(restore, 0));
        }
        if batch.rows.len() > limits::RESTORE_BATCH_SIZE_BYTES {
            return Ok(refused("the batch is too large"));
        }
        let Some(shift_ms) = restore.now_ms.checked_sub(batch.source_now_ms) else {
            return Ok(refused("the source's time is above that of the restore"));
        };
        let Ok(list) = RowList::decode(batch.rows.as_slice()) else {
            return Ok(refused("the batch does not decode"));
        };
        // All of them first: what is refused changes nothing.
        let mut taken = Vec::with_capacity(list.rows.len());
        for row in list.rows {
            match Taken::of(&self.m.meta, shift_ms, row) {
                Ok(row) => taken.push(row),
                Err(error) => return Ok(refused(error)),
            }
        }
        for row in taken {
            self.take_row(row)?;
        }
        let row = RestoreRow {
            sequence: batch.sequence,
            ..*restore
        };
        self.m.meta.restore = Some(row);
        Ok(done(&row, 0))
    }

    fn close_restore(&mut self, restore: RestoreRow) -> RestoreReply {
        let row = RestoreRow {
            stage: Stage::Closed as i32,
            ..restore
        };
        self.m.meta.restore = Some(row);
        self.m.begin_recovery(row.id);
        done(&row, 0)
    }
}

impl Machine {
    /// Whether a restore fills the shard: then it serves nobody.
    pub(crate) fn is_being_restored(&self) -> bool {
        self.restoring().is_some_and(|stage| stage != Stage::Closed)
    }

    /// How far the restore is that made the shard.
    pub(crate) fn restoring(&self) -> Option<Stage> {
        self.meta.restore.map(|row| row.stage())
    }

    /// What a restore would find here.
    pub fn restore_state(&self) -> RestoreState {
        let done = |row: RestoreRow| RestoreDone {
            stage: row.stage(),
            sequence: row.sequence,
            queued: 0,
        };
        RestoreState {
            begun: self.meta.restore.map(|row| (row.id, done(row))),
            refused: self.why_not_empty(),
        }
    }

    /// Why nothing can be restored into the shard.
    fn why_not_empty(&self) -> Option<&'static str> {
        let meta = &self.meta;
        if meta.restore.is_some() {
            Some("another restore was begun here")
        } else if meta.accepted > 0 || self.hosts.len() > 0 {
            Some("the shard is not empty: it has URLs or hosts")
        } else if !self.crawls.is_empty() {
            Some("the shard is not empty: it has a crawl's policy")
        } else if meta.token > 0 || meta.outbox_in > 0 || !meta.splits.is_empty() {
            Some("the shard is not empty: it was in use")
        } else {
            None
        }
    }
}

pub(super) fn refused(reason: impl ToString) -> RestoreReply {
    RestoreReply::Refused(reason.to_string())
}

pub(super) fn done(row: &RestoreRow, queued: u64) -> RestoreReply {
    RestoreReply::Done(RestoreDone {
        stage: row.stage(),
        sequence: row.sequence,
        queued,
    })
}
