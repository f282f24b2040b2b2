//! URLs by the million, offered before what is measured.

use super::offering::{self, Load};
use super::target::Target;
use super::urls::{Hosts, Spread};
use crate::output::{self, CommandError};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// URLs of a batch.
const BATCH: usize = 1_024;
/// URLs between two notes of how far it is.
const NOTE_EVERY: u64 = 1_000_000;

/// Hosts, and writers that offer URLs on them.
pub struct Preload {
    hosts: Arc<Hosts>,
    load: Load,
}

impl Preload {
    /// Offers nothing yet.
    pub fn new(target: &Target, writers: usize, spread: Spread) -> Self {
        let shards = target.shards().len() as u64;
        Self {
            hosts: Arc::new(Hosts::new(spread.hosts, spread.sites, shards)),
            load: Load {
                writers: writers.max(1),
                batch: BATCH,
                measured: Duration::ZERO,
                warm_up: Duration::ZERO,
                skew: spread.skew,
            },
        }
    }

    /// Offers the URLs with these numbers, shared among the writers; ends when all are taken.
    pub async fn offer(&self, target: &Target, urls: Range<u64>) -> Result<(), CommandError> {
        let writers = self.load.writers as u64;
        for first in urls.clone().step_by(NOTE_EVERY as usize) {
            let last = urls.end.min(first + NOTE_EVERY);
            // Each writer has a stream of its own, so a number stands for one URL of each.
            let numbers = first.div_ceil(writers)..last.div_ceil(writers);
            offering::preload(target, &self.hosts, self.load, numbers).await?;
            if last - urls.start >= NOTE_EVERY {
                output::note(format_args!("{} URLs offered", last - urls.start));
            }
        }
        Ok(())
    }

    /// Hosts and load, for offers of another kind.
    pub fn parts(&self) -> (Arc<Hosts>, Load) {
        (Arc::clone(&self.hosts), self.load)
    }
}
