//! Work done on the spot, under virtual time: repeatable, with power losses that keep what was acknowledged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::cluster::{Node, leader_of, start_node};
use super::support::{count, options, propose};
use crate::testing::{LocalNetwork, LogSizes, copy_after_power_loss, flush_unnoticed};
use crate::{EngineOptions, Threads, VirtualDisk, seed_randomness};

/// A disk whose syncs take a while, and what the last of them covered.
#[derive(Default)]
struct Disk {
    dir: PathBuf,
    syncs: AtomicU64,
    synced: Mutex<LogSizes>,
}

impl VirtualDisk for Disk {
    fn log_sync(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn state_flush(&self) -> Duration {
        Duration::from_millis(20)
    }

    fn log_synced(&self) {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        *self.synced.lock() = LogSizes::read(&self.dir).unwrap();
    }
}

fn inline(dir: &Path, node_id: u64) -> (EngineOptions, Arc<Disk>) {
    let disk = Arc::new(Disk {
        dir: dir.to_owned(),
        synced: Mutex::new(LogSizes::default()),
        ..Disk::default()
    });
    let mut options = options(dir, node_id);
    options.threads = Threads::Inline(disk.clone());
    options.monotonic = Arc::new(|| tokio::time::Instant::now().into_std());
    (options, disk)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .rng_seed(tokio::runtime::RngSeed::from_bytes(b"seed"))
        .build()
        .unwrap()
}

/// Three replicas take some entries; what could be seen from outside.
fn run_once() -> String {
    seed_randomness(Some(3));
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let runtime = runtime();
    let seen = runtime.block_on(async {
        let started = tokio::time::Instant::now();
        let network = LocalNetwork::default();
        let mut nodes: Vec<Node> = Vec::new();
        for (place, dir) in dirs.iter().enumerate() {
            nodes.push(start_node(&network, inline(dir.path(), place as u64 + 1).0).await);
        }
        let leader = leader_of(&nodes.iter().collect::<Vec<_>>()).await;
        for _ in 0..20 {
            propose(&nodes[leader].group, "key").await;
        }
        nodes[leader].group.flush().await.unwrap();
        nodes[leader].group.confirm_leadership().await.unwrap();
        let metrics: Vec<_> = nodes
            .iter()
            .map(|node| format!("{:?}", node.engine.metrics()))
            .collect();
        let elapsed = started.elapsed();
        for node in nodes {
            node.engine.close().await;
        }
        format!("{leader} {elapsed:?} {metrics:?}")
    });
    seed_randomness(None);
    seen
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(run_once(), run_once());
}

#[test]
fn a_power_loss_keeps_what_was_acknowledged() {
    for (kept_permille, state_survives) in [(0, false), (500, true), (1000, false)] {
        let base = tempfile::tempdir().unwrap();
        let (first, second) = (base.path().join("first"), base.path().join("second"));
        let runtime_before = runtime();
        let (options, disk) = inline(&first, 1);
        runtime_before.block_on(async {
            let network = LocalNetwork::default();
            let engine = crate::Engine::open(options, network.transport(1)).unwrap();
            let group = super::support::sole_group(&engine, 7, &Arc::default()).await;
            for _ in 0..5 {
                propose(&group, "key").await;
            }
            // One more is written and not synced when the power goes.
            let token = super::support::leads(&group).await;
            let _pending = group.submit(token, "key".into()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
            if state_survives {
                flush_unnoticed(&engine).unwrap();
            }
            let synced = disk.synced.lock().clone();
            copy_after_power_loss(&first, &second, &synced, kept_permille).unwrap();
        });
        drop(runtime_before);
        runtime().block_on(async {
            let network = LocalNetwork::default();
            let (options, _disk) = inline(&second, 1);
            let engine = crate::Engine::open(options, network.transport(1)).unwrap();
            let group = super::support::open_group(&engine, 7, &Arc::default()).await;
            super::support::leads(&group).await;
            let applied = count(&engine, 7, "key");
            let expected = if kept_permille == 1000 { 6 } else { 5 };
            assert_eq!(applied, expected, "{kept_permille} {state_survives}");
            engine.close().await;
        });
    }
}
