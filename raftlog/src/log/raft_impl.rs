//! The log as openraft sees it.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use futures::Stream;
use openraft::storage::{IOFlushed, LogState, RaftLogReader, RaftLogStorage};
use openraft::{OptionalSend, alias::EntryOf};

use super::group_log::GroupLog;
use super::syncer::Done;
use crate::group::FlushGuard;
use crate::limits::{MAX_APPEND_BYTES, MAX_APPLY_BYTES};
use crate::raft_types::{Entry, LogId, TypeConfig, Vote};

/// Handle of a group's log for openraft, reader and writer alike.
#[derive(Clone)]
pub(crate) struct LogStore {
    log: Arc<GroupLog>,
    /// Keeps the log from being purged above what the state has flushed.
    guard: Option<Arc<dyn FlushGuard>>,
}

impl LogStore {
    pub(crate) fn new(log: Arc<GroupLog>, guard: Option<Arc<dyn FlushGuard>>) -> Self {
        Self { log, guard }
    }
}

fn bounds(range: &impl RangeBounds<u64>) -> (u64, u64) {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    (start, end)
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<RB>(&mut self, range: RB) -> io::Result<Vec<Entry>>
    where
        RB: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        let (start, end) = bounds(&range);
        self.log.read(start, end, usize::MAX).await
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<Entry>> {
        self.log.read(start, end, MAX_APPEND_BYTES).await
    }

    /// In pieces, since a range to apply may be the whole log.
    async fn entries_stream<RB>(
        &mut self,
        range: RB,
    ) -> impl Stream<Item = Result<EntryOf<TypeConfig>, io::Error>> + OptionalSend
    where
        RB: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        let (start, end) = bounds(&range);
        let pieces = futures::stream::try_unfold(
            (Arc::clone(&self.log), start),
            move |(log, next)| async move {
                let piece = if next < end {
                    log.read(next, end, MAX_APPLY_BYTES).await?
                } else {
                    Vec::new()
                };
                let next = piece.last().map(|last| last.log_id.index + 1);
                Ok::<_, io::Error>(next.map(|next| {
                    (
                        futures::stream::iter(piece.into_iter().map(Ok)),
                        (log, next),
                    )
                }))
            },
        );
        Box::pin(futures::TryStreamExt::try_flatten(pieces))
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(self.log.memory.lock().vote)
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> io::Result<LogState<TypeConfig>> {
        let memory = self.log.memory.lock();
        Ok(LogState {
            last_purged_log_id: memory.purged,
            last_log_id: memory.last,
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        self.log.save_vote(vote).await
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> io::Result<()> {
        self.log.save_committed(committed);
        Ok(())
    }

    async fn read_committed(&mut self) -> io::Result<Option<LogId>> {
        Ok(self.log.memory.lock().committed)
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<TypeConfig>) -> io::Result<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.log
            .append(entries.into_iter().collect(), Done::Raft(callback));
        Ok(())
    }

    async fn truncate_after(&mut self, last_log_id: Option<LogId>) -> io::Result<()> {
        self.log.truncate_after(last_log_id).await
    }

    async fn purge(&mut self, log_id: LogId) -> io::Result<()> {
        if let Some(guard) = &self.guard {
            guard.ensure_flushed(log_id.index).await?;
        }
        self.log.purge(log_id);
        Ok(())
    }
}
