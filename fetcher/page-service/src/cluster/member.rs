//! One store of a cluster: its client and its health.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::health::Health;
use super::metrics::Counters;
use super::{ClusterOptions, StoreState};
use crate::{AddressError, StoreCallError, StoreClient};

/// See the module.
#[derive(Debug)]
pub(crate) struct Member {
    store_id: u32,
    client: StoreClient,
    health: Health,
    probe_timeout: Duration,
    probing: Mutex<()>,
    counters: Arc<Counters>,
}

impl Member {
    pub(crate) fn new(
        store_id: u32,
        address: &str,
        options: &ClusterOptions,
        counters: &Arc<Counters>,
    ) -> Result<Self, AddressError> {
        Ok(Self {
            store_id,
            client: StoreClient::new(store_id, address, options.client.clone())?,
            health: Health::new(options.back_off_ms),
            probe_timeout: Duration::from_millis(options.probe_timeout_ms),
            probing: Mutex::new(()),
            counters: Arc::clone(counters),
        })
    }

    pub(crate) const fn store_id(&self) -> u32 {
        self.store_id
    }

    pub(crate) const fn client(&self) -> &StoreClient {
        &self.client
    }

    pub(crate) const fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn state(&self) -> StoreState {
        StoreState {
            store_id: self.store_id,
            address: self.client.address().to_owned(),
            reason: self
                .health
                .refusal(Instant::now())
                .map(|error| error.to_string()),
        }
    }

    /// Whether somebody is asking it whether it is back.
    pub(crate) fn is_probed(&self) -> bool {
        self.probing.try_lock().is_err()
    }

    /// Asks a store that is rested whether it is back; one question at a time, however many pages want to know.
    pub(crate) async fn probe(&self) {
        let _turn = self.probing.lock().await;
        if !self.health.is_rested(Instant::now()) {
            return;
        }
        self.counters.probe();
        let asked = timeout(self.probe_timeout, self.client.status()).await;
        let late = || StoreCallError::no_answer("it does not say that it is back");
        // What matters is kept in the health.
        let _ = self.learn(asked.unwrap_or_else(|_| Err(late())));
    }

    /// Keeps what a call that does not write tells about the store.
    pub(crate) fn learn<T>(&self, outcome: Result<T, StoreCallError>) -> Result<T, StoreCallError> {
        match &outcome {
            Err(error @ (StoreCallError::NoAnswer { .. } | StoreCallError::WrongStore { .. })) => {
                self.failed(error);
            }
            _ => {
                if self.health.answered() {
                    self.back();
                }
            }
        }
        outcome
    }

    /// Keeps what a put tells about the store.
    pub(crate) fn learn_put<T>(
        &self,
        outcome: Result<T, StoreCallError>,
    ) -> Result<T, StoreCallError> {
        match &outcome {
            Ok(_) => {
                if self.health.wrote() {
                    self.back();
                }
            }
            Err(error) => self.failed(error),
        }
        outcome
    }

    fn failed(&self, error: &StoreCallError) {
        if self.health.failed(error, Instant::now()) {
            let (store_id, address) = (self.store_id, self.client.address());
            tracing::warn!(store_id, address, %error, "a page store gets no pages for now");
        }
    }

    fn back(&self) {
        let (store_id, address) = (self.store_id, self.client.address());
        tracing::info!(store_id, address, "a page store is back");
    }
}
