//! Finding the cluster: a fetcher may be started before its frontiers.

use std::sync::Arc;
use std::time::Duration;

use client::{Router, RouterError, RouterOptions};
use urlkey::SuffixList;

use super::complaint::Complaint;
use crate::limits::{CONNECT_PAUSE_MS, LINKS_DEADLINE_MS, MAP_REFRESH_MS};

/// Asks until a frontier answers.
///
/// # Errors
///
/// What waiting does not mend: a malformed address, another identity.
pub(super) async fn connect(
    addresses: &[String],
    suffixes: &Arc<SuffixList>,
    session: &str,
) -> Result<Router, RouterError> {
    let options = RouterOptions {
        offer_deadline_ms: LINKS_DEADLINE_MS,
        // Links whose owner nobody leads travel with the report.
        offer_patience_ms: 0,
        origin: session.chars().take(8).collect(),
        ..RouterOptions::new(Arc::clone(suffixes))
    };
    let (mut complaint, mut tries) = (Complaint::default(), 0);
    loop {
        match Router::connect_addresses(addresses.to_vec(), options.clone()).await {
            Err(error @ RouterError::Unreachable(_)) => {
                if complaint.is_news(error.to_string()) {
                    tracing::warn!(%error, "no frontier answers yet; asked again until one does");
                }
            }
            end => return end,
        }
        tokio::time::sleep(pause(tries)).await;
        tries += 1;
    }
}

/// Before the next try: doubles from the first bound to the last.
fn pause(tries: u32) -> Duration {
    let (first, last) = CONNECT_PAUSE_MS;
    Duration::from_millis(first.saturating_mul(1 << tries.min(16)).min(last))
}

/// Keeps the map fresh: new leaders and processes are learnt before a call needs them.
pub(super) async fn follow(router: Arc<Router>) {
    let mut complaint = Complaint::default();
    loop {
        tokio::time::sleep(Duration::from_millis(MAP_REFRESH_MS)).await;
        match router.refresh().await {
            Err(error) if complaint.is_news(error.to_string()) => {
                tracing::warn!(%error, "cannot refresh the shard map");
            }
            Err(_) => {}
            Ok(()) if complaint.is_over() => tracing::warn!("the shard map is fresh again"),
            Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_become_rare_but_never_end() {
        let pauses_ms = [0, 1, 2, 3, 4, 40, u32::MAX].map(|tries| pause(tries).as_millis());
        assert_eq!(pauses_ms, [500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000]);
    }
}
