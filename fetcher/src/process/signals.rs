//! The wish to stop: the first SIGTERM or SIGINT asks for an orderly end, the second for one at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What was asked for so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// End in order.
    pub(super) stop: CancellationToken,
    /// End now.
    pub(super) at_once: CancellationToken,
}

impl Wishes {
    /// Listens for signals from now on.
    pub(super) fn listen() -> std::io::Result<Self> {
        let wishes = Self::default();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let heard = wishes.clone();
        tokio::spawn(async move {
            for wish in [&heard.stop, &heard.at_once] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                tracing::info!("a signal asks to stop");
                wish.cancel();
            }
        });
        Ok(wishes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[tokio::test]
    async fn the_first_signal_asks_and_the_second_insists() {
        let wishes = Wishes::listen().unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        wishes.stop.cancelled().await;
        assert!(!wishes.at_once.is_cancelled());
        kill_process(getpid(), Signal::TERM).unwrap();
        wishes.at_once.cancelled().await;
    }
}
