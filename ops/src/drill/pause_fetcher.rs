//! A fetcher is stopped until its leases are over and others have them, then goes on: it must not contact late.

use super::args::Common;
use super::limits::LEASE_TTL;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// How long it stays stopped beyond its leases.
const BEYOND: Duration = Duration::from_secs(2);
/// Between two rounds.
const BETWEEN: Duration = Duration::from_secs(4);

/// The drill.
pub struct PauseFetcher;

impl Drill for PauseFetcher {
    const NAME: &'static str = "pause-fetcher";
    const ROUNDS: u32 = 2;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting(
            (LEASE_TTL + BEYOND + BETWEEN) * rounds,
            common,
        ))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        for round in 1..=rounds {
            let fetchers = rig.cluster.fetcher_numbers();
            let fetcher = fetchers[rig.choose(fetchers.len())];
            let stopped = LEASE_TTL + BEYOND;
            rig.cluster.pause_fetcher(fetcher)?;
            rig.settle(stopped).await?;
            rig.cluster.resume_fetcher(fetcher)?;
            note_round(
                round,
                format_args!(
                    "fetcher {fetcher} was stopped for {} s, leases last {} s",
                    stopped.as_secs(),
                    LEASE_TTL.as_secs()
                ),
            );
            rig.settle(BETWEEN).await?;
        }
        Ok(Measured::default())
    }
}
