//! Offers that go on until they are stopped, beside what is measured.

use super::offering::discover;
use super::preload::Preload;
use super::target::Target;
use super::urls::Hosts;
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::JoinHandle;

/// URLs of a batch.
const BATCH: u64 = 256;

/// Offers that have not begun.
pub struct Offers {
    clients: Vec<Arc<dyn Frontier>>,
    hosts: Arc<Hosts>,
    skew: f64,
    first: u64,
}

/// Offers that go on.
pub struct Offering {
    tasks: Vec<JoinHandle<Result<(), CommandError>>>,
    stop: Arc<AtomicBool>,
    offered: Arc<AtomicU64>,
}

impl Offers {
    /// Connects the writers. `taken` URLs were offered by the preload.
    pub async fn prepare(
        target: &Target,
        preload: &Preload,
        writers: usize,
        taken: u64,
    ) -> Result<Self, CommandError> {
        let (hosts, load) = preload.parts();
        let mut clients = Vec::new();
        for _ in 0..writers {
            clients.push(target.client().await?);
        }
        Ok(Self {
            clients,
            hosts,
            skew: load.skew,
            first: taken.div_ceil(load.writers as u64),
        })
    }

    /// Begins.
    pub fn start(self) -> Offering {
        let (stop, offered) = (Arc::default(), Arc::default());
        let writers = self.clients.into_iter().enumerate();
        let tasks = writers.map(|(number, client)| {
            let (hosts, skew, first) = (Arc::clone(&self.hosts), self.skew, self.first);
            let (stop, offered) = (Arc::clone(&stop), Arc::clone(&offered));
            tokio::spawn(write(client, hosts, (number, skew, first), stop, offered))
        });
        Offering {
            tasks: tasks.collect(),
            stop,
            offered,
        }
    }
}

impl Offering {
    /// Stops; how many URLs were offered.
    pub async fn stop(self) -> Result<u64, CommandError> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await
                .map_err(|e| CommandError::of("a writer failed", e))??;
        }
        Ok(self.offered.load(Ordering::Relaxed))
    }
}

async fn write(
    client: Arc<dyn Frontier>,
    hosts: Arc<Hosts>,
    (number, skew, first): (usize, f64, u64),
    stop: Arc<AtomicBool>,
    offered: Arc<AtomicU64>,
) -> Result<(), CommandError> {
    let stream = hosts.stream(number, skew);
    let stream = stream.ok_or_else(|| CommandError::Message("there are no hosts".to_owned()))?;
    for call in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let from = first + call * BATCH;
        let request = pb::DiscoverRequest {
            shard: stream.shard,
            items: stream.items(from..from + BATCH),
        };
        discover(&*client, request).await?;
        offered.fetch_add(BATCH, Ordering::Relaxed);
    }
    Ok(())
}
