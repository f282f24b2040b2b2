//! The floor of N10: messages that travel and are answered, and nothing else.

use super::measure::cpu_time;
use crate::output::CommandError;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, MissedTickBehavior};

/// Size of one heartbeat and of its answer as they are sent, bytes, about: a vote, a place in the log, a group.
const BEAT_SIZE_BYTES: f64 = 64.0;

/// Sends so many messages of so many heartbeats a second over loopback for so long, each answered by as many bytes; the
/// CPU of this process meanwhile, in % of a core. Both ends are here, as a node sends its own messages and answers as
/// many of the others.
pub async fn run(
    messages_a_second: f64,
    beats_a_message: f64,
    lasting: Duration,
) -> Result<f64, CommandError> {
    let failed = |e| CommandError::io("the floor failed", e);
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let size = (beats_a_message * BEAT_SIZE_BYTES).clamp(BEAT_SIZE_BYTES, 1e6) as usize;
    let answering = tokio::spawn(async move {
        let Ok((mut stream, _)) = listener.accept().await else {
            return;
        };
        let mut message = vec![0; size];
        // Until the other side ends, which sees every failure.
        while stream.read_exact(&mut message).await.is_ok()
            && stream.write_all(&message).await.is_ok()
        {}
    });
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    let pause = Duration::from_secs_f64(1.0 / messages_a_second.clamp(0.1, 1e6));
    let mut every = tokio::time::interval(pause);
    every.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut message = vec![0; size];
    let (started, before) = (Instant::now(), cpu_time());
    while started.elapsed() < lasting {
        every.tick().await;
        stream.write_all(&message).await.map_err(failed)?;
        stream.read_exact(&mut message).await.map_err(failed)?;
    }
    let used = cpu_time().saturating_sub(before).as_secs_f64();
    answering.abort();
    Ok(used / started.elapsed().as_secs_f64() * 100.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_cost_some_cpu() {
        let percent = run(2_000.0, 10.0, Duration::from_millis(300)).await;
        assert!(percent.unwrap() > 0.0);
    }
}
