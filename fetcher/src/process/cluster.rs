//! Finding the cluster: a fetcher may be started before its frontiers.

use std::sync::Arc;
use std::time::Duration;

use client::{Router, RouterError, RouterOptions};
use urlkey::SuffixList;

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
    loop {
        match Router::connect_addresses(addresses.to_vec(), options.clone()).await {
            Err(error @ RouterError::Unreachable(_)) => {
                tracing::warn!(%error, "no frontier answers yet");
            }
            end => return end,
        }
        tokio::time::sleep(Duration::from_millis(CONNECT_PAUSE_MS)).await;
    }
}

/// Keeps the map fresh: new leaders and processes are learnt before a call needs them.
pub(super) async fn follow(router: Arc<Router>) {
    loop {
        tokio::time::sleep(Duration::from_millis(MAP_REFRESH_MS)).await;
        if let Err(error) = router.refresh().await {
            tracing::warn!(%error, "cannot refresh the shard map");
        }
    }
}
