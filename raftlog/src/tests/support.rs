//! Set-up that the tests share.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::counter_machine::{Seen, factory, parse, row_key};
use crate::{
    DiskStep, Engine, EngineOptions, FaultHook, Group, GroupConfig, GroupId, LeadershipToken,
    NoTransport, ProposeError, RaftTiming, Reply, RowBatch,
};

/// Bound on every wait: reached only by a test that fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Lets the process end without static destructors. Tests of crashes leave databases open on purpose, and RocksDB's threads
/// abort the process when its statics are destroyed under them. Registered anew by each test, so that it runs first.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
fn end_without_destructors() {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        fn _exit(status: c_int) -> !;
    }
    extern "C" fn leave(status: c_int, _argument: *mut c_void) {
        // SAFETY: ends the process with the status it was about to end with.
        unsafe { _exit(status) }
    }
    // SAFETY: the handler is a plain function that outlives the process.
    let registered = unsafe { on_exit(leave, std::ptr::null_mut()) };
    assert_eq!(registered, 0);
}

#[cfg(not(target_env = "gnu"))]
fn end_without_destructors() {}

/// Options for tests: short elections, quick recovery.
pub(super) fn options(dir: &Path, node_id: u64) -> EngineOptions {
    end_without_destructors();
    let timing = RaftTiming {
        heartbeat_ms: 100,
        election_min_ms: 400,
        election_max_ms: 800,
    };
    let mut options = EngineOptions {
        timing,
        recover_interval_ms: 20,
        ..EngineOptions::new(dir, node_id)
    };
    options.memtable_size_bytes = 4 * 1024 * 1024;
    options.min_free_bytes = 0;
    options
}

pub(super) fn open(options: EngineOptions) -> Arc<Engine> {
    Engine::open(options, Arc::new(NoTransport)).unwrap()
}

/// Creates and opens a group of one replica whose rows begin with the group's id.
pub(super) async fn sole_group(engine: &Arc<Engine>, group_id: GroupId, seen: &Arc<Seen>) -> Group {
    let members = BTreeSet::from([engine.options().node_id]);
    engine
        .create_group(GroupConfig {
            group_id,
            members,
            initial_rows: RowBatch::new(),
        })
        .await
        .unwrap();
    open_group(engine, group_id, seen).await
}

pub(super) async fn open_group(engine: &Arc<Engine>, group_id: GroupId, seen: &Arc<Seen>) -> Group {
    let factory = factory(engine.state(), group_id as u8, Arc::clone(seen));
    engine.open_group(group_id, factory).await.unwrap()
}

/// Waits until this replica leads.
pub(super) async fn leads(group: &Group) -> LeadershipToken {
    let mut leadership = group.leadership();
    let led = leadership.wait_for(|known| known.is_leader);
    let led = tokio::time::timeout(PATIENCE, led)
        .await
        .expect("no leader in time")
        .unwrap();
    led.token().unwrap()
}

/// Proposes until it is taken, as a client would.
pub(super) async fn propose(group: &Group, payload: &str) -> Reply {
    let proposing = async {
        loop {
            let token = leads(group).await;
            match group
                .propose(token, Bytes::copy_from_slice(payload.as_bytes()))
                .await
            {
                Err(ProposeError::NotLeader { .. }) => {
                    tokio::time::sleep(Duration::from_millis(5)).await
                }
                outcome => return outcome.unwrap(),
            }
        }
    };
    tokio::time::timeout(PATIENCE, proposing)
        .await
        .expect("not proposed in time")
}

/// How often a key was applied, by its row.
pub(super) fn count(engine: &Engine, group_id: GroupId, key: &str) -> u64 {
    let value = engine
        .state()
        .get(&row_key(group_id as u8, key.as_bytes()))
        .unwrap();
    value.map_or(0, |value| parse(&value).0)
}

/// Waits until a condition holds.
pub(super) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// A fault hook made of a closure.
pub(super) struct Hook<F>(pub(super) F);

impl<F: Fn(DiskStep) -> std::io::Result<()> + Send + Sync + 'static> FaultHook for Hook<F> {
    fn before(&self, step: DiskStep) -> std::io::Result<()> {
        (self.0)(step)
    }
}

/// Copies the files of a directory.
pub(super) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
