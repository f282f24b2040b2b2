//! Looks at all shards every so often: what is ready, for the longest pause.

use super::limits::{SAMPLE_EVERY, SAMPLE_TIMEOUT, SAMPLES};
use super::pause::Sample;
use crate::cluster::{Addresses, NodeClient, all_statuses, clients, shards};
use crate::output::CommandError;
use ::fakeweb::monotonic_ns;
use client::Router;
use futures::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;

/// A task that samples until it is dropped.
pub struct Sampler {
    samples: Arc<Mutex<Vec<Sample>>>,
    task: JoinHandle<()>,
}

impl Sampler {
    /// Starts sampling the shards of this map, whichever they are by then, over connections of its own.
    pub fn start(addresses: &Addresses, map: &Arc<Router>) -> Result<Self, CommandError> {
        let nodes = clients(addresses, SAMPLE_TIMEOUT)?;
        let samples = Arc::new(Mutex::new(Vec::new()));
        let (into, map) = (Arc::clone(&samples), Arc::clone(map));
        let task = tokio::spawn(async move {
            let mut every = tokio::time::interval(SAMPLE_EVERY);
            every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                every.tick().await;
                let sample = look(&nodes, &shards(&map)).await;
                let mut samples = into.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sample) = sample
                    && samples.len() < SAMPLES
                {
                    samples.push(sample);
                }
            }
        });
        Ok(Self { samples, task })
    }

    /// What was sampled so far.
    pub fn samples(&self) -> Vec<Sample> {
        self.samples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One sample, stamped before it is asked for; `None` when no node answers.
async fn look(nodes: &BTreeMap<u32, NodeClient>, shards: &[u64]) -> Option<Sample> {
    let t_ns = monotonic_ns();
    let each = join_all(shards.iter().map(|shard| all_statuses(nodes, *shard))).await;
    let newest = each.into_iter().filter_map(|statuses| {
        let newest = statuses.into_iter().max_by_key(|(_, s)| s.applied_index)?;
        Some(newest.1.next_ready_in_ms)
    });
    let next_ms = newest.min()?;
    let ready_at_ns =
        (next_ms != u64::MAX).then(|| t_ns.saturating_add(next_ms.saturating_mul(1_000_000)));
    Some(Sample { t_ns, ready_at_ns })
}
