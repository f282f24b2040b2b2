//! A fetcher is killed; the others do its work when its leases are over. A new one needs no hand-over.

use super::args::Common;
use super::limits::LEASE_TTL;
use super::plan::Plan;
use super::rig::Rig;
use super::{Drill, Measured, note_round};
use crate::output::CommandError;
use std::path::Path;
use std::time::Duration;

/// How long it stays away.
const AWAY: Duration = Duration::from_secs(2);
/// After its return, beyond the leases it had: the next kill finds it at work.
const BETWEEN: Duration = Duration::from_secs(2);

/// The drill.
pub struct KillFetcher;

impl Drill for KillFetcher {
    const NAME: &'static str = "kill-fetcher";
    const ROUNDS: u32 = 3;

    fn plan(&mut self, common: &Common, rounds: u32, _: &Path) -> Result<Plan, CommandError> {
        Ok(Plan::lasting((LEASE_TTL + AWAY + BETWEEN) * rounds, common))
    }

    async fn run(&mut self, rig: &mut Rig, rounds: u32) -> Result<Measured, CommandError> {
        for round in 1..=rounds {
            let fetchers = rig.cluster.fetcher_numbers();
            let fetcher = fetchers[rig.choose(fetchers.len())];
            rig.cluster.kill_fetcher(fetcher)?;
            note_round(round, format_args!("SIGKILL to fetcher {fetcher}"));
            rig.settle(AWAY).await?;
            rig.cluster.start_fetcher(fetcher).await?;
            rig.settle(LEASE_TTL + BETWEEN).await?;
        }
        Ok(Measured::default())
    }
}
