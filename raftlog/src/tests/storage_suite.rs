//! openraft's own suite over the stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openraft::StorageError;
use openraft::testing::log::{StoreBuilder, Suite};
use tempfile::TempDir;

use super::support::{open, options};
use crate::group::{Instance, state_impl::StateStore};
use crate::log::{GroupLog, LogStore};
use crate::raft_types::TypeConfig;
use crate::{Applied, Committed, Engine, KeyRange, MachineError, MachineFactory, StateMachine};

/// The suite proposes nothing as a user, so this machine owns no rows.
struct NoRows;

impl StateMachine for NoRows {
    fn apply(&mut self, _entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        Err(MachineError::new("the suite has no user entries"))
    }

    fn committed(&mut self) {}

    fn restored(&mut self) -> Result<(), MachineError> {
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        Vec::new()
    }
}

/// One engine for all; each store is a new group of it.
struct Builder {
    engine: Arc<Engine>,
    built: AtomicU64,
    _dir: TempDir,
}

impl StoreBuilder<TypeConfig, LogStore, StateStore> for Arc<Builder> {
    async fn build(&self) -> Result<((), LogStore, StateStore), StorageError<TypeConfig>> {
        let group_id = self.built.fetch_add(1, Ordering::SeqCst) + 1;
        let shared = &self.engine.shared;
        let factory: Arc<MachineFactory> = Arc::new(Box::new(|| Ok(Box::new(NoRows))));
        let instance = Instance::load(group_id, 1, shared, &factory).unwrap();
        // Registered, so that flushes are recorded for it.
        shared.flusher.register(&instance);
        let log = GroupLog::load(
            group_id,
            &shared.log_cell,
            &shared.syncer,
            &shared.read_lanes,
            &shared.options,
        )
        .unwrap();
        // The suite purges logs that it never applied, so nothing guards against that here.
        Ok(((), LogStore::new(log, None), StateStore { instance }))
    }
}

#[test]
fn openraft_suite_passes() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let builder = Arc::new(Builder {
        engine,
        built: AtomicU64::new(0),
        _dir: dir,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(Suite::test_all(Arc::clone(&builder)))
        .unwrap();
    let built = builder.built.load(Ordering::SeqCst);
    assert_eq!(
        built, 46,
        "stores that the suite builds in the pinned version"
    );
    println!("stores built by the suite: {built}");
}
