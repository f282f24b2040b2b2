//! A log whose tail was replaced by entries that are applied, whose own writes were lost. Seed 166 of the simulator found it.

use std::sync::Arc;

use openraft::EntryPayload;
use openraft::storage::{RaftLogReader, RaftLogStorage, RaftLogStorageExt};

use super::support::{open, options};
use crate::Engine;
use crate::log::{GroupLog, LogStore};
use crate::raft_types::{Entry, LogId, log_id};

fn load(engine: &Engine) -> Arc<GroupLog> {
    let shared = &engine.shared;
    GroupLog::load(
        9,
        &shared.log_cell,
        &shared.syncer,
        &shared.read_lanes,
        &shared.options,
    )
    .unwrap()
}

async fn append(log: &Arc<GroupLog>, ids: Vec<LogId>) {
    let entries = ids.into_iter().map(|log_id| Entry {
        log_id,
        payload: EntryPayload::Blank,
    });
    LogStore::new(Arc::clone(log), None)
        .blocking_append(entries)
        .await
        .unwrap();
}

/// Purged, last, and the indices that can be read.
async fn seen(log: &Arc<GroupLog>) -> (Option<LogId>, Option<LogId>, Vec<u64>) {
    let mut store = LogStore::new(Arc::clone(log), None);
    let state = store.get_log_state().await.unwrap();
    let entries = store.try_get_log_entries(1..100).await.unwrap();
    let indices = entries.iter().map(|entry| entry.log_id.index).collect();
    (state.last_purged_log_id, state.last_log_id, indices)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_that_was_replaced_is_dropped_and_the_log_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let log = load(&engine);
    append(&log, (1..=4).map(|index| log_id(5, index)).collect()).await;
    // Nothing of these is replaced: the rows are behind, as far, or further, which openraft mends itself.
    for applied in [
        None,
        Some(log_id(5, 2)),
        Some(log_id(5, 4)),
        Some(log_id(6, 5)),
    ] {
        log.drop_replaced(applied).await.unwrap();
        assert_eq!(
            seen(&log).await,
            (None, Some(log_id(5, 4)), vec![1, 2, 3, 4])
        );
    }
    log.drop_replaced(Some(log_id(6, 3))).await.unwrap();
    assert_eq!(
        seen(&log).await,
        (Some(log_id(6, 3)), Some(log_id(6, 3)), vec![])
    );
    append(&log, vec![log_id(6, 4), log_id(7, 5)]).await;
    let expected = (Some(log_id(6, 3)), Some(log_id(7, 5)), vec![4, 5]);
    assert_eq!(seen(&log).await, expected);
    assert_eq!(seen(&load(&engine)).await, expected);
    engine.close().await;
}
