//! Opening an engine.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use openraft::SnapshotPolicy;
use parking_lot::{Condvar, Mutex};
use prost::Message;
use rocksdb::{Cache, DB, WriteOptions};
use tokio::sync::Semaphore;

use super::removal::finish_removals;
use super::whole::{check_log, check_state, log_dir, state_dir};
use super::{Engine, Shared};
use crate::db_cell::DbCell;
use crate::errors::OpenError;
use crate::flusher::Flusher;
use crate::health::Health;
use crate::ids::NodeId;
use crate::lanes::Lanes;
use crate::limits::{MAX_APPEND_ENTRIES, MAX_SNAPSHOT_SENDS};
use crate::log::{Syncer, identity_key, open_log};
use crate::metrics::Counters;
use crate::options::EngineOptions;
use crate::recovery;
use crate::state::open_state;
use crate::threads::{Threads, VirtualDisk};
use crate::transport::Transport;
use crate::wire::{IdentityMsg, decode};

/// Version of the layout of both databases.
const LAYOUT_VERSION: u32 = 1;

/// Time that openraft gives one snapshot from first to last byte. Our own bound is a chunk's, in the transport.
const SNAPSHOT_TIMEOUT_MS: u64 = 6 * 60 * 60 * 1000;

impl Engine {
    /// Opens the databases, making them if they are missing, and starts the threads. Blocks, for as long as reading
    /// back up to 64 MiB of log takes.
    pub fn open(
        options: EngineOptions,
        transport: Arc<dyn Transport>,
    ) -> Result<Arc<Self>, OpenError> {
        options.validate()?;
        let io_error = |dir: &Path, error: io::Error| OpenError::Io {
            dir: dir.to_owned(),
            reason: error.to_string(),
        };
        crate::make_durable_dir(&options.dir).map_err(|error| io_error(&options.dir, error))?;
        let (log_cell, state_cell, state_cache) = open_databases(&options)?;
        check_identity(&*log_cell.get().map_err(closed)?, &options)?;
        finish_removals(
            &*log_cell.get().map_err(closed)?,
            &*state_cell.get().map_err(closed)?,
            options.node_id,
        )
        .map_err(|reason| OpenError::Io {
            dir: options.dir.clone(),
            reason,
        })?;
        let staging = options.dir.join("staging");
        reset_dir(&staging).map_err(|error| io_error(&staging, error))?;
        let start_error = |error| io_error(&options.dir, error);
        let counters: Arc<Counters> = Arc::default();
        let health = Health::new(Arc::clone(&counters));
        let faults = options.faults.clone();
        let syncer = Syncer::new(
            Arc::clone(&log_cell),
            health.clone(),
            Arc::clone(&counters),
            faults,
        );
        if !options.threads.is_inline() {
            syncer.start().map_err(start_error)?;
        }
        let lanes = |name, count| match options.threads {
            Threads::Real => Lanes::start(name, count),
            Threads::Inline(_) => Ok(Lanes::inline()),
        };
        let shared = Arc::new(Shared {
            raft_config: Arc::new(raft_config(&options)?),
            transport,
            log_cell,
            state_cell,
            state_cache,
            syncer: Arc::new(syncer),
            flusher: Flusher::new(
                options.flush_size_bytes,
                Duration::from_millis(options.flush_interval_ms),
            ),
            apply_lanes: lanes("raft-apply", options.apply_threads).map_err(start_error)?,
            read_lanes: Arc::new(lanes("raft-read", 2).map_err(start_error)?),
            health,
            counters,
            staged: AtomicU64::new(0),
            snapshot_sends: Arc::new(Semaphore::new(MAX_SNAPSHOT_SENDS)),
            closing: AtomicBool::new(false),
            closed: Mutex::new(false),
            closed_changed: Condvar::new(),
            slots: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            options: options.clone(),
        });
        let (threads, tasks) = match options.threads.disk() {
            None => (start_threads(&shared).map_err(start_error)?, Vec::new()),
            Some(disk) => (Vec::new(), start_tasks(&shared, disk)),
        };
        Ok(Arc::new(Self {
            shared,
            threads: Mutex::new(threads),
            tasks: Mutex::new(tasks),
        }))
    }
}

type Databases = (Arc<DbCell>, Arc<DbCell>, Cache);

fn open_databases(options: &EngineOptions) -> Result<Databases, OpenError> {
    let dir = &options.dir;
    check_log(dir)?;
    let log_cache = Cache::new_lru_cache(options.log_cache_size_bytes);
    let (log_options, may_make) = (options.clone(), AtomicBool::new(true));
    let log = DbCell::open(Box::new(move || {
        // Only the first time: a disk that is away after a failure must not come back as an empty one.
        let may_make = may_make.swap(false, Ordering::Relaxed);
        open_log(
            &log_dir(&log_options.dir),
            &log_options,
            &log_cache,
            may_make,
        )
    }))?;
    check_state(&*log.get().map_err(closed)?, dir)?;
    let state_cache = Cache::new_lru_cache(options.block_cache_size_bytes);
    let (state_options, cache) = (options.clone(), state_cache.clone());
    let may_make = AtomicBool::new(true);
    let state = DbCell::open(Box::new(move || {
        let may_make = may_make.swap(false, Ordering::Relaxed);
        open_state(
            &state_dir(&state_options.dir),
            &state_options,
            &cache,
            may_make,
        )
    }))?;
    Ok((Arc::new(log), Arc::new(state), state_cache))
}

fn closed(error: crate::StateError) -> OpenError {
    OpenError::Io {
        dir: "log".into(),
        reason: error.to_string(),
    }
}

/// A new directory takes the node's id; an old one must have it.
fn check_identity(db: &DB, options: &EngineOptions) -> Result<(), OpenError> {
    let dir = options.dir.clone();
    let ours = IdentityMsg {
        node_id: options.node_id,
        layout_version: LAYOUT_VERSION,
    };
    let stored = db.get(identity_key()).map_err(|error| OpenError::Io {
        dir: dir.clone(),
        reason: error.to_string(),
    })?;
    let Some(stored) = stored else {
        let mut write = WriteOptions::default();
        write.set_sync(true);
        let written = db.put_opt(identity_key(), ours.encode_to_vec(), &write);
        return written.map_err(|error| OpenError::Io {
            dir,
            reason: error.to_string(),
        });
    };
    let malformed = |error: crate::wire::WireError| OpenError::Corrupt {
        dir: dir.clone(),
        reason: error.to_string(),
    };
    let found: IdentityMsg = decode("identity", &stored).map_err(malformed)?;
    judge(found, options.node_id, &options.dir)
}

fn judge(found: IdentityMsg, expected: NodeId, dir: &Path) -> Result<(), OpenError> {
    if found.layout_version != LAYOUT_VERSION {
        let (found, expected) = (found.layout_version, LAYOUT_VERSION);
        return Err(OpenError::WrongVersion {
            dir: dir.to_owned(),
            found,
            expected,
        });
    }
    if found.node_id != expected {
        return Err(OpenError::WrongNode {
            dir: dir.to_owned(),
            found: found.node_id,
            expected,
        });
    }
    Ok(())
}

fn reset_dir(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => crate::make_durable_dir(dir),
    }
}

fn raft_config(options: &EngineOptions) -> Result<openraft::Config, OpenError> {
    let timing = &options.timing;
    let config = openraft::Config {
        cluster_name: "frontier".to_owned(),
        heartbeat_interval: timing.heartbeat_ms,
        election_timeout_min: timing.election_min_ms,
        election_timeout_max: timing.election_max_ms,
        install_snapshot_timeout: SNAPSHOT_TIMEOUT_MS,
        max_payload_entries: MAX_APPEND_ENTRIES,
        // Snapshots and purges are driven by flushes.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: u64::MAX,
        enable_pre_vote: Some(true),
        quorum_loss_probe_interval: Some(3 * timing.election_max_ms),
        // A restarted leader has forgotten how far it had committed: it must win again.
        enable_leader_restore: Some(false),
        // A follower that has lost entries is asked anew what it has, instead of being sent what it cannot take.
        allow_log_reversion: Some(true),
        backoff: "50ms 100ms 200ms ...2s".to_owned(),
        ..openraft::Config::default()
    };
    config.validate().map_err(|error| OpenError::BadOption {
        name: "timing",
        reason: error.to_string(),
    })
}

fn start_threads(shared: &Arc<Shared>) -> io::Result<Vec<std::thread::JoinHandle<()>>> {
    let (flushing, recovering) = (Arc::clone(shared), Arc::clone(shared));
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    Ok(vec![
        named("raft-flush").spawn(move || flushing.flusher.run(&flushing))?,
        named("raft-disk").spawn(move || recovery::run(&recovering))?,
    ])
}

/// The same work as tasks of the runtime that opens the engine.
fn start_tasks(
    shared: &Arc<Shared>,
    disk: Arc<dyn VirtualDisk>,
) -> Vec<tokio::task::JoinHandle<()>> {
    let (flushing, recovering) = (Arc::clone(shared), Arc::clone(shared));
    let syncing = shared.syncer.run_inline(Arc::clone(&disk));
    vec![
        tokio::spawn(syncing),
        tokio::spawn(async move { flushing.flusher.run_inline(&flushing, &*disk).await }),
        tokio::spawn(async move { recovery::run_inline(&recovering).await }),
    ]
}
