//! Arguments of `crawl`.

use crate::duration;
use fetcher::dns::Override;
use ipnet::IpNet;
use std::path::PathBuf;
use std::time::Duration;

/// Which links are followed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ScopeName {
    /// Those on the hosts of the seeds.
    Host,
    /// Those on the sites (registrable domains) of the seeds.
    Site,
    /// All.
    Any,
}

/// Arguments of `crawl`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 the run came to its end or was stopped in order, 1 failed, 2 the command line is wrong."
)]
pub struct Args {
    /// URLs to start from.
    pub urls: Vec<String>,
    /// File with further URLs, one a line; empty lines and lines that start with # are skipped.
    #[arg(long)]
    pub seeds: Option<PathBuf>,
    /// Directory of the crawl; made if missing, resumed if there.
    #[arg(long)]
    pub out: PathBuf,
    /// Stop after this many pages were stored, all runs on this directory together; what is open then is finished.
    #[arg(long)]
    pub max_pages: Option<u64>,
    /// Least time between two contacts of a host.
    #[arg(long, default_value = "1s", value_parser = duration::parse)]
    pub delay: Duration,
    /// Open fetches.
    #[arg(long, default_value_t = 200)]
    pub open: usize,
    /// Private or special address range that may be contacted (may be repeated).
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<IpNet>,
    /// Connect hosts that match PATTERN (`*`, `*.suffix` or a name) to ADDR:PORT, whatever the URL's port.
    #[arg(long, value_name = "PATTERN=ADDR:PORT")]
    pub resolve: Vec<Override>,
    /// Which links are followed.
    #[arg(long, value_enum, default_value_t = ScopeName::Host)]
    pub scope: ScopeName,
    /// Print one summary object as the last line of stdout.
    #[arg(long)]
    pub json: bool,
    /// Longest time of one fetch.
    #[arg(long, default_value = "30s", value_parser = duration::parse)]
    pub fetch_timeout: Duration,
    /// How long a lease lasts; a crash costs a host this long.
    #[arg(long, default_value = "90s", value_parser = duration::parse)]
    pub lease_ttl: Duration,
    /// First wait after a failure of a host; doubles with each further one.
    #[arg(long, default_value = "10s", value_parser = duration::parse)]
    pub back_off: Duration,
    /// Attempts of a URL before it ends as unfetchable.
    #[arg(long, default_value_t = 8)]
    pub attempts: u32,
    /// End the run when nothing more becomes ready within this time; what waits is kept for the next run.
    #[arg(long, default_value = "2m", value_parser = duration::parse)]
    pub patience: Duration,
    /// Groups the frontier is split into; fixed by the first run.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub shards: u32,
    /// Product of the User-Agent; its leading letters are what robots.txt files name.
    #[arg(long, default_value = "Escapement/0.1")]
    pub product: String,
    /// Where the owner of a host can find you: an address or a mailbox, part of the User-Agent.
    #[arg(long, default_value = "")]
    pub contact: String,
}
