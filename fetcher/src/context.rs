//! What every cycle of a fetcher shares.

use std::sync::Arc;

use client::Frontier;
use rustls::pki_types::CertificateDer;

use crate::addresses::AddressError;
use crate::budget::BodyBudget;
use crate::config::FetcherConfig;
use crate::dns::Dns;
use crate::http::{BodyCaps, BuildError, FetchError, HttpClient, Opened, Request};
use crate::links::{KnownLinks, Links};
use crate::metrics::Metrics;
use crate::offers::Offers;
use crate::pages::Pages;
use crate::pause::StorePause;
use crate::robots_cache::RobotsCache;
use crate::scope::Crawls;

/// What a fetcher is made of.
pub struct Parts {
    /// Its settings.
    pub config: FetcherConfig,
    /// The cluster's frontiers, each call routed to the leader of the shard it names.
    pub frontier: Arc<dyn Frontier>,
    /// Delivery of links, and the shard map.
    pub links: Arc<dyn Links>,
    /// Where pages go.
    pub pages: Arc<dyn Pages>,
    /// Scope and canonical form, by crawl.
    pub crawls: Crawls,
    /// Names to addresses.
    pub dns: Dns,
    /// Root certificates beside the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// What every cycle shares.
pub(crate) struct Context {
    pub(crate) config: FetcherConfig,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) links: Arc<dyn Links>,
    pub(crate) offers: Offers,
    pub(crate) pages: Arc<dyn Pages>,
    pub(crate) crawls: Crawls,
    pub(crate) http: HttpClient,
    pub(crate) robots: RobotsCache,
    pub(crate) known: KnownLinks,
    pub(crate) budget: BodyBudget,
    pub(crate) pause: StorePause,
    pub(crate) metrics: Arc<Metrics>,
}

impl Context {
    pub(crate) fn new(parts: Parts) -> Result<Self, BuildError> {
        parts.config.check()?;
        let http = HttpClient::new(parts.config.http.clone(), parts.dns, &parts.extra_roots)?;
        Ok(Self {
            robots: RobotsCache::new(&parts.config.http.product, Arc::clone(&parts.metrics)),
            known: KnownLinks::new(parts.config.known_links),
            budget: BodyBudget::new(parts.config.body_budget_bytes),
            pause: StorePause::default(),
            http,
            frontier: parts.frontier,
            offers: Offers::new(Arc::clone(&parts.links)),
            links: parts.links,
            pages: parts.pages,
            crawls: parts.crawls,
            metrics: parts.metrics,
            config: parts.config,
        })
    }

    /// Caps of a page's body.
    pub(crate) fn page_caps(&self) -> BodyCaps {
        let http = &self.config.http;
        BodyCaps {
            compressed_bytes: http.max_compressed_bytes,
            decoded_bytes: http.max_decoded_bytes,
            oversize: http.oversize,
        }
    }

    /// Opens a request; counts those that the rule for addresses forbids.
    pub(crate) async fn open(&self, request: Request<'_>) -> Result<Opened, FetchError> {
        let opened = self.http.open(request).await;
        if let Err(FetchError::Address(AddressError::Private | AddressError::Mixed)) = opened {
            self.metrics.addresses_refused.increment();
        }
        opened
    }
}
