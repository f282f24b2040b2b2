//! One line that shows how the crawl stands: redrawn on a terminal, printed now and then elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proto::frontier_v1::ShardStatusResponse;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a line is printed where nothing can be redrawn.
const PRINT_EVERY: Duration = Duration::from_secs(10);

/// The line.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    printed: Option<Instant>,
}

impl Progress {
    /// Starts it, on stderr.
    pub fn start() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target)
            .with_style(ProgressStyle::default_spinner());
        Self {
            bar,
            started: Instant::now(),
            printed: (!terminal).then(Instant::now),
        }
    }

    /// Shows the counters as they are now.
    pub fn show(&mut self, shards: &[ShardStatusResponse], stored: u64) {
        let terms = || shards.iter().filter_map(|shard| shard.terms.as_ref());
        let hosts: u64 = shards.iter().map(|shard| shard.active_hosts).sum();
        let text = format!(
            "{:.0} s: {stored} pages, {} done, {} queued on {hosts} hosts, {} leases out",
            self.started.elapsed().as_secs_f64(),
            terms().map(|t| t.done).sum::<u64>(),
            terms().map(|t| t.queued).sum::<u64>(),
            terms().map(|t| t.leased).sum::<u64>(),
        );
        match self.printed {
            None => self.bar.set_message(text),
            Some(last) if last.elapsed() >= PRINT_EVERY => {
                output::note(format_args!("{text}"));
                self.printed = Some(Instant::now());
            }
            Some(_) => {}
        }
        self.bar.tick();
    }

    /// Takes it away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
