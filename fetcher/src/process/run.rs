//! From settings to the exit code: find the cluster, say that it is ready, work until told to stop.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use client::{RoutedFrontier, Router, RouterError};
use page_service::{ClusterStore, StoreDirectory};
use tokio::net::TcpListener;
use tracing::Instrument;

use super::exposition::Sources;
use super::signals::Wishes;
use super::stores::{NodeStores, WatchedPages};
use super::{Settings, SettingsError, cluster, http};
use crate::context::Parts;
use crate::dns::Dns;
use crate::fetcher::{Fetcher, StartError, new_session};
use crate::metrics::Metrics;

/// Why a fetcher process ended without being told to.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No threads or timers.
    #[error("cannot start: {0}")]
    Runtime(#[source] std::io::Error),
    /// No signals could be listened for.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// The metrics endpoint.
    #[error("cannot serve metrics: {0}")]
    Listen(#[source] std::io::Error),
    /// The cluster is not one that this fetcher can work for.
    #[error(transparent)]
    Cluster(#[from] RouterError),
    /// The fetcher could not be made.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Runs a fetcher until a signal ends it.
///
/// # Errors
///
/// It could not start.
pub async fn run(settings: Settings) -> Result<ExitCode, ProcessError> {
    let wishes = Wishes::listen().map_err(ProcessError::Signals)?;
    tokio::select! {
        biased;
        () = wishes.at_once.cancelled() => {
            tracing::warn!("ended at once: open leases run out by themselves");
            Ok(ExitCode::FAILURE)
        }
        end = until_stopped(settings, &wishes) => end,
    }
}

async fn until_stopped(settings: Settings, wishes: &Wishes) -> Result<ExitCode, ProcessError> {
    let session = new_session()?;
    let name: String = session.iter().map(|byte| format!("{byte:02x}")).collect();
    let span = tracing::info_span!("fetcher", session = &name[..8]);
    let work = work(settings, wishes, session, name).instrument(span);
    work.await
}

async fn work(
    settings: Settings,
    wishes: &Wishes,
    session: [u8; 16],
    name: String,
) -> Result<ExitCode, ProcessError> {
    let listener = TcpListener::bind(settings.http_listen)
        .await
        .map_err(ProcessError::Listen)?;
    let address = listener.local_addr().map_err(ProcessError::Listen)?;
    let connecting = cluster::connect(&settings.frontier, &settings.crawls.suffixes, &name);
    let router = tokio::select! {
        () = wishes.stop.cancelled() => return Ok(ExitCode::SUCCESS),
        router = connecting => Arc::new(router?),
    };
    let directory = Arc::new(NodeStores::new(Arc::clone(&router)));
    directory.refresh().await;
    let stores = ClusterStore::new(Arc::clone(&directory) as _, settings.copies);
    let pages = WatchedPages::new(directory, stores.clone());
    pages.say_if_few();
    let parts = parts(settings, &router, pages);
    let metrics = Arc::clone(&parts.metrics);
    let fetcher = Fetcher::with_session(parts, session)?;
    let sources = Sources {
        metrics,
        router: Arc::clone(&router),
        gauges: fetcher.gauges(),
        stores,
    };
    let helpers = [
        tokio::spawn(http::serve(listener, Arc::new(sources)).in_current_span()),
        tokio::spawn(cluster::follow(router).in_current_span()),
    ];
    // Whoever waits for this line may be gone.
    let _ = writeln!(std::io::stdout(), "ready session={name} http={address}");
    let stop = fetcher.stop_handle();
    let running = fetcher.run();
    tokio::pin!(running);
    let is_complete = tokio::select! {
        () = wishes.stop.cancelled() => {
            stop.cancel();
            running.await
        }
        is_complete = &mut running => is_complete,
    };
    helpers.iter().for_each(tokio::task::JoinHandle::abort);
    if !is_complete {
        tracing::warn!("not every end was answered in time: those leases run out by themselves");
    }
    Ok(ExitCode::SUCCESS)
}

fn parts(settings: Settings, router: &Arc<Router>, pages: WatchedPages) -> Parts {
    Parts {
        config: settings.fetcher,
        frontier: Arc::new(RoutedFrontier::new(Arc::clone(router))),
        links: Arc::clone(router) as _,
        pages: Arc::new(pages),
        crawls: settings.crawls,
        dns: Dns::system(),
        extra_roots: Vec::new(),
        metrics: Arc::new(Metrics::default()),
    }
}
