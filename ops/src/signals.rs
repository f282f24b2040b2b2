//! Waiting for the wish to stop: SIGINT or SIGTERM.

use crate::output::CommandError;
use tokio::signal::unix::{SignalKind, signal};

/// Completes at the first SIGINT or SIGTERM.
pub async fn stopped() -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// The same for commands that are not asynchronous.
pub fn wait_for_stop() -> Result<(), CommandError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(stopped()))
        .map_err(|e| CommandError::io("cannot wait for signals", e))
}
