//! All stores of a cluster as one.

mod error;
mod get;
mod health;
mod member;
mod members;
mod metrics;
mod options;
mod put;
mod unmodified;

pub use error::{ClusterGetError, ClusterPutError, FailedCopy};
pub use get::Fetched;
pub use metrics::ClusterMetrics;
pub use options::ClusterOptions;
pub use put::ClusterPut;

use std::sync::Arc;
use std::time::Duration;

use page_store::{Digest, ScrubReport};
use parking_lot::RwLock;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::limits::{COPIES, REFRESH_MS};
use crate::{ScrubEvent, StoreCallError, StoreDirectory, StoreStatus};
use member::Member;
use members::Members;
use metrics::Counters;

/// The stores of a directory, with a number of copies of each page. Clones share it.
#[derive(Clone)]
pub struct ClusterStore(Arc<Inner>);

struct Inner {
    directory: Arc<dyn StoreDirectory>,
    copies: usize,
    options: ClusterOptions,
    members: RwLock<Arc<Members>>,
    /// When the directory was last asked to learn anew.
    refreshed: Mutex<Option<Instant>>,
    counters: Arc<Counters>,
}

/// One store, as the cluster sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreState {
    /// Its id in URL records.
    pub store_id: u32,
    /// Where it is.
    pub address: String,
    /// Why it gets no pages now; nothing when it does.
    pub reason: Option<String>,
}

impl ClusterStore {
    /// The stores of this directory; each page goes to `copies` of them (at least 1, at most [`COPIES`]).
    pub fn new(directory: Arc<dyn StoreDirectory>, copies: usize) -> Self {
        Self::with_options(directory, copies, ClusterOptions::default())
    }

    /// The same with other times.
    pub fn with_options(
        directory: Arc<dyn StoreDirectory>,
        copies: usize,
        options: ClusterOptions,
    ) -> Self {
        Self(Arc::new(Inner {
            directory,
            copies: copies.clamp(1, COPIES),
            options,
            members: RwLock::default(),
            refreshed: Mutex::new(None),
            counters: Arc::default(),
        }))
    }

    /// How many stores each page goes to.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.0.copies
    }

    /// Has one store read and check every record.
    pub async fn scrub(
        &self,
        store_id: u32,
        on_event: impl FnMut(ScrubEvent) + Send,
    ) -> Result<ScrubReport, StoreCallError> {
        self.member(store_id).await?.client().scrub(on_event).await
    }

    /// What one store is and holds.
    pub async fn status(&self, store_id: u32) -> Result<StoreStatus, StoreCallError> {
        let member = self.member(store_id).await?;
        let outcome = member.client().status().await;
        member.learn(outcome)
    }

    /// All stores, by id, and which of them get no pages now.
    #[must_use]
    pub fn stores(&self) -> Vec<StoreState> {
        self.members().all().map(|member| member.state()).collect()
    }

    /// Counts since it was made.
    #[must_use]
    pub fn metrics(&self) -> ClusterMetrics {
        let sent = self.members().sent_payload_bytes();
        self.0.counters.read(sent)
    }

    /// The stores as the directory has them now.
    fn members(&self) -> Arc<Members> {
        let listed = self.0.directory.stores();
        let known = Arc::clone(&self.0.members.read());
        if known.is_of(&listed) {
            return known;
        }
        let mut members = self.0.members.write();
        if !members.is_of(&listed) {
            *members = Arc::new(members.become_of(listed, &self.0.options, &self.0.counters));
        }
        Arc::clone(&members)
    }

    async fn member(&self, store_id: u32) -> Result<Arc<Member>, StoreCallError> {
        if let Some(member) = self.members().get(store_id) {
            return Ok(member);
        }
        self.refresh().await;
        self.members()
            .get(store_id)
            .ok_or_else(|| StoreCallError::no_answer(format!("no store {store_id} is known")))
    }

    /// Has the directory learn anew, unless it just did; whether it then says something else.
    async fn refresh(&self) -> bool {
        let before = self.0.directory.stores();
        let mut refreshed = self.0.refreshed.lock().await;
        let pause = Duration::from_millis(REFRESH_MS.0);
        if refreshed.is_none_or(|at| at.elapsed() >= pause) {
            let limit = Duration::from_millis(REFRESH_MS.1);
            if timeout(limit, self.0.directory.refresh()).await.is_err() {
                tracing::warn!("the directory of page stores does not answer");
            }
            *refreshed = Some(Instant::now());
        }
        self.0.directory.stores() != before
    }

    /// Those of a digest's stores, in order, that get pages now. One whose rest is over is asked first whether it is back: in the
    /// background, so that no page waits for it, unless fewer than `needed` are left without it.
    async fn ready(&self, members: &Members, digest: &Digest, needed: usize) -> Vec<Arc<Member>> {
        let order: Vec<Arc<Member>> = members.order(digest);
        let ready = |order: &[Arc<Member>]| -> Vec<Arc<Member>> {
            let ready = order
                .iter()
                .filter(|member| member.health().is_ready(Instant::now()));
            ready.map(Arc::clone).collect()
        };
        let rested: Vec<_> = order
            .iter()
            .filter(|member| member.health().is_rested(Instant::now()))
            .map(Arc::clone)
            .collect();
        let now = ready(&order);
        if rested.is_empty() {
            return now;
        }
        if now.len() >= needed {
            for member in rested.into_iter().filter(|member| !member.is_probed()) {
                tokio::spawn(async move { member.probe().await });
            }
            return now;
        }
        futures::future::join_all(rested.iter().map(|member| member.probe())).await;
        ready(&order)
    }
}

impl std::fmt::Debug for ClusterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterStore")
            .field("copies", &self.0.copies)
            .field("stores", &self.stores())
            .finish_non_exhaustive()
    }
}
