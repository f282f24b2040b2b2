//! The least a durable frontier of one replica must do: its log's bytes synced, its rows' bytes in RocksDB, by as many
//! writers, with syncs shared by those that wait together. No gRPC, no Raft, no checks, no machine.

use super::measure::{Measured, Meter};
use super::model::Cost;
use super::outcome::{ratio, rounded};
use crate::output::CommandError;
use raftlog::{EngineOptions, RawStore, RowBatch};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What one call of a writer must do.
#[derive(Debug, Default)]
pub struct Job {
    /// Rows that are looked for first.
    pub looked_up: Vec<Vec<u8>>,
    /// The log's record; none is written when it is empty.
    pub payload: Vec<u8>,
    /// Changes of rows.
    pub rows: RowBatch,
    /// How many of the figure's units this is.
    pub units: u64,
}

impl Job {
    /// A job that writes what an entry costs.
    pub fn of(cost: &Cost, units: u64) -> Self {
        Self {
            looked_up: Vec::new(),
            payload: cost.payload.clone(),
            rows: cost.batch(),
            units,
        }
    }
}

/// How a floor went.
#[derive(Debug)]
pub struct Floor {
    /// Units a second.
    pub per_second: f64,
    measured: Measured,
    jobs: usize,
    units: u64,
    log_bytes: usize,
    row_bytes: usize,
}

impl Floor {
    /// The same comparison by CPU time: what it says when others use the machine too, and the disk does not matter.
    pub fn by_cpu(&self, units: u64, run: &Measured) -> Value {
        let run = ratio(units as f64, run.cpu_seconds);
        let floor = ratio(self.units as f64, self.measured.cpu_seconds);
        json!({ "run": rounded(run), "floor": rounded(floor), "ratio": rounded(ratio(run, floor)) })
    }

    /// For the outcome's detail.
    pub fn detail(&self) -> Value {
        let units = self.units.max(1) as f64;
        json!({
            "seconds": rounded(self.measured.seconds),
            "cpu_seconds": rounded(self.measured.cpu_seconds),
            "units": self.units,
            "calls": self.jobs,
            "log_bytes_a_unit": rounded(self.log_bytes as f64 / units),
            "row_bytes_a_unit": rounded(self.row_bytes as f64 / units),
        })
    }
}

/// Does all jobs with so many writers, after loading rows that must be there already.
pub fn run(
    dir: &Path,
    jobs: &[Job],
    loaded: &[RowBatch],
    writers: usize,
) -> Result<Floor, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::of("the floor failed", error);
    let store = RawStore::open(&EngineOptions::new(dir, 1)).map_err(|e| failed(&e))?;
    for rows in loaded {
        store.write(rows).map_err(|e| failed(&e))?;
    }
    store.flush().map_err(|e| failed(&e))?;
    let (next, found) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> Result<(), raftlog::StateError> {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !job.looked_up.is_empty() {
                let held = store.hold(&job.looked_up)?;
                found.fetch_add(
                    held.iter().filter(|held| **held).count() as u64,
                    Ordering::Relaxed,
                );
            }
            if !job.payload.is_empty() {
                store.append(&job.payload)?;
                store.write(&job.rows)?;
            }
        }
        Ok(())
    };
    let meter = Meter::start();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| match thread.join() {
                Ok(result) => result.map_err(|e| failed(&e)),
                Err(_) => Err(CommandError::Message(
                    "a writer of the floor panicked".to_owned(),
                )),
            })
    })?;
    let measured = meter.stop();
    let units = jobs.iter().map(|job| job.units).sum();
    Ok(Floor {
        per_second: ratio(units as f64, measured.seconds),
        measured,
        jobs: jobs.len(),
        units,
        log_bytes: jobs.iter().map(|job| job.payload.len()).sum(),
        row_bytes: jobs.iter().map(|job| job.rows.size_bytes()).sum(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        let dir = tempfile::tempdir().unwrap();
        let job = |number: u8| {
            let mut rows = RowBatch::new();
            rows.put([b'k', number], [number]);
            Job {
                looked_up: vec![vec![b'k', number]],
                payload: vec![number; 100],
                rows,
                units: 3,
            }
        };
        let jobs: Vec<Job> = (0..50).map(job).collect();
        let floor = run(dir.path(), &jobs, &[], 4).unwrap();
        assert!(floor.per_second > 0.0);
        assert_eq!(
            (floor.units, floor.jobs, floor.log_bytes, floor.row_bytes),
            (150, 50, 5_000, 150)
        );
        let store = RawStore::open(&EngineOptions::new(dir.path(), 1)).unwrap();
        let keys: Vec<_> = (0..50u8).map(|number| [b'k', number]).collect();
        assert!(store.hold(&keys).unwrap().into_iter().all(|held| held));
    }
}
