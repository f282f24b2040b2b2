//! Runs single cycles against a server, with everything else in memory.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;
use rustls::pki_types::CertificateDer;
use urlkey::SuffixList;

use super::{FakeFrontier, MemoryPages, page_work};
use crate::config::FetcherConfig;
use crate::contact::{Contact, ContactTrace};
use crate::context::{Context, Parts};
use crate::deadline::{BootInstant, Deadline};
use crate::dns::{Answer, Dns, DnsError, NameSource};
use crate::held::Held;
use crate::metrics::Metrics;
use crate::outcome::End;
use crate::scope::Crawls;
use crate::{cycle, errand_cycle, robots_cycle};

/// One cycle at a time.
pub(crate) struct Rig {
    pub(crate) ctx: Context,
    pub(crate) frontier: Arc<FakeFrontier>,
    pub(crate) pages: Arc<MemoryPages>,
    pub(crate) deadline: Deadline,
}

/// How a cycle ended.
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) contact: Contact,
}

impl Rig {
    /// Every host is at this address; timeouts are short.
    pub(crate) fn at(addr: SocketAddr) -> Self {
        Self::with(addr, |_| {})
    }

    /// As [`Rig::at`], with changes of the settings.
    pub(crate) fn with(addr: SocketAddr, change: impl FnOnce(&mut FetcherConfig)) -> Self {
        let mut config = Self::config();
        config.http.resolve = vec![format!("*={addr}").parse().unwrap()];
        change(&mut config);
        Self::new(config, Dns::new(ScriptedNames::new([])), &[])
    }

    /// Settings for tests: loopback open, little patience.
    pub(crate) fn config() -> FetcherConfig {
        let mut config = FetcherConfig::default();
        config.http.allow_net = vec!["127.0.0.0/8".parse().unwrap()];
        config.http.connect_timeout_ms = 10_000;
        config.http.first_byte_timeout_ms = 2_000;
        config.http.idle_timeout_ms = 2_000;
        config.http.fetch_timeout_ms = 20_000;
        config.shutdown_ms = 4_000;
        config
    }

    pub(crate) fn new(config: FetcherConfig, dns: Dns, roots: &[CertificateDer<'static>]) -> Self {
        let (parts, frontier, pages) = Self::parts(config, dns, roots);
        let deadline = Deadline::at(BootInstant::now().plus_ms(600_000));
        Self {
            ctx: Context::new(parts).unwrap(),
            frontier,
            pages,
            deadline,
        }
    }

    pub(crate) fn parts(
        config: FetcherConfig,
        dns: Dns,
        roots: &[CertificateDer<'static>],
    ) -> (Parts, Arc<FakeFrontier>, Arc<MemoryPages>) {
        let (frontier, pages) = (
            Arc::new(FakeFrontier::default()),
            Arc::new(MemoryPages::default()),
        );
        let parts = Parts {
            config,
            frontier: Arc::clone(&frontier) as Arc<dyn client::Frontier>,
            links: Arc::clone(&frontier) as Arc<dyn crate::Links>,
            pages: Arc::clone(&pages) as Arc<dyn crate::Pages>,
            crawls: Crawls::any(SuffixList::shipped()),
            dns,
            extra_roots: roots.to_vec(),
            metrics: Arc::new(Metrics::default()),
        };
        (parts, frontier, pages)
    }

    fn held(&self, kind: pb::lease_key::Kind) -> Held {
        let key = pb::LeaseKey {
            kind: kind.into(),
            partition: 7,
            fingerprint: 8,
        };
        Held {
            shard: 1,
            key,
            token: 9,
            deadline: self.deadline,
        }
    }

    pub(crate) async fn page(&self, url: &str) -> Ran {
        self.page_of(&page_work(url)).await
    }

    pub(crate) async fn page_of(&self, work: &pb::PageWork) -> Ran {
        let trace = ContactTrace::default();
        let held = self.held(pb::lease_key::Kind::Page);
        let end = Box::pin(cycle::page(&self.ctx, &held, work, &trace)).await;
        trace.end();
        Ran {
            end,
            contact: trace.get(),
        }
    }

    pub(crate) async fn robots(&self, url: &str) -> Ran {
        let origin = url.trim_end_matches("/robots.txt").to_owned();
        self.robots_of(&pb::RobotsWork {
            url: url.to_owned(),
            origin,
            attempt: 4,
            validators: None,
        })
        .await
    }

    pub(crate) async fn robots_of(&self, work: &pb::RobotsWork) -> Ran {
        let trace = ContactTrace::default();
        let held = self.held(pb::lease_key::Kind::Robots);
        let end = Box::pin(robots_cycle::robots(&self.ctx, &held, work, &trace)).await;
        trace.end();
        Ran {
            end,
            contact: trace.get(),
        }
    }

    pub(crate) async fn errand(&self, errand: pb::Errand) -> Ran {
        let trace = ContactTrace::default();
        let held = self.held(pb::lease_key::Kind::Errand);
        let work = pb::ErrandWork {
            errand: Some(errand),
        };
        let end = Box::pin(errand_cycle::errand(&self.ctx, &held, &work, &trace)).await;
        trace.end();
        Ran {
            end,
            contact: trace.get(),
        }
    }
}

impl Ran {
    pub(crate) fn page(&self) -> &pb::PageOutcome {
        match &self.end {
            End::Report {
                outcome: pb::report::Outcome::Page(page),
                ..
            } => page,
            other => panic!("no page outcome: {other:?}"),
        }
    }

    /// Code and reason of a page.
    pub(crate) fn code(&self) -> (Code, &str) {
        (self.page().code(), &self.page().reason)
    }

    pub(crate) fn found(&self) -> &pb::RobotsFound {
        match &self.end {
            End::Report {
                outcome:
                    pb::report::Outcome::Robots(pb::RobotsOutcome {
                        found: Some(found), ..
                    }),
                ..
            } => found,
            other => panic!("no robots finding: {other:?}"),
        }
    }

    pub(crate) fn undelivered(&self) -> &[pb::DiscoverItem] {
        match &self.end {
            End::Report { undelivered, .. } => undelivered,
            End::Release => &[],
        }
    }

    pub(crate) fn wire(&self) -> pb::Contact {
        self.contact.to_wire(BootInstant::now())
    }
}

/// Answers by script: the first ones in turn, the last for ever.
pub(crate) struct ScriptedNames {
    answers: Mutex<VecDeque<Result<Answer, DnsError>>>,
    pub(crate) lookups: AtomicUsize,
}

impl ScriptedNames {
    pub(crate) fn new<const N: usize>(answers: [Result<&[&str], DnsError>; N]) -> Arc<Self> {
        let parse = |answer: Result<&[&str], DnsError>| {
            answer.map(|list| Answer {
                addresses: list.iter().map(|ip| ip.parse().unwrap()).collect(),
                ttl_ms: 0,
            })
        };
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().map(parse).collect()),
            lookups: AtomicUsize::new(0),
        })
    }
}

#[async_trait::async_trait]
impl NameSource for ScriptedNames {
    async fn lookup(&self, _name: &str) -> Result<Answer, DnsError> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let mut answers = self.answers.lock();
        let next = answers.front().cloned().unwrap_or(Err(DnsError::Failed));
        if answers.len() > 1 {
            answers.pop_front();
        }
        next
    }
}
