//! Shards made ready without a node: hosts whose robots are allowed, with URLs in their queues, and lease-and-report pairs on
//! them. The rows are what real commands made of an empty shard; a node that is given them goes on from there.

use super::model::{Cost, Model, discover};
use super::node::impatient;
use super::rng::mix;
use super::urls::{CRAWL, Host, Hosts};
use crate::output::CommandError;
use frontier_node::ShardRange;
use machine::command::lease::{Lease, LeaseCall, LeaseReply, Work};
use machine::command::report::{
    Contact, Outcome, PageCode, PageOutcome, Report, ReportBatch, RobotsCode, RobotsFound,
    RobotsOutcome,
};
use machine::{Body, CommandReply};
use proto::frontier_v1 as pb;
use raftlog::{EngineOptions, RawStore, RowBatch};
use std::path::Path;

/// Items of one command.
const BATCH: usize = 256;
/// Rows of one batch when they are loaded.
const ROWS_A_BATCH: usize = 20_000;
/// How long a lease lasts, ms.
const TTL_MS: u64 = 600_000;

/// A shard and the session that asks for its leases.
pub struct Prepared {
    /// The shard.
    pub model: Model,
    number: u64,
}

impl Prepared {
    /// A shard with these hosts, all ready.
    pub fn new(
        range: ShardRange,
        hosts: &[Host],
        urls_per_host: u32,
    ) -> Result<Self, CommandError> {
        let mut prepared = Self {
            model: Model::new(range, impatient())?,
            number: 0,
        };
        let links = hosts
            .iter()
            .flat_map(|host| (0..urls_per_host).map(move |number| link(host, number)));
        let links: Vec<pb::Link> = links.collect();
        for batch in links.chunks(BATCH) {
            prepared.model.apply(discover(batch.iter().cloned())?)?;
        }
        // Shard time stands still meanwhile, so that no host is ready for a page yet.
        loop {
            let leases = prepared.lease(BATCH)?;
            if leases.is_empty() {
                break;
            }
            prepared.model.apply(report(&leases))?;
        }
        prepared.model.now_ms += 1_000;
        // An entry without effect but that of time.
        prepared.model.apply(discover(std::iter::empty())?)?;
        Ok(prepared)
    }

    /// Leases of the next call.
    pub fn lease(&mut self, max_leases: usize) -> Result<Vec<Lease>, CommandError> {
        let call = self.call(max_leases);
        granted(self.model.apply(call)?)
    }

    /// The same, and what it cost.
    pub fn lease_counted(&mut self, max_leases: usize) -> Result<(Vec<Lease>, Cost), CommandError> {
        let call = self.call(max_leases);
        let (reply, cost) = self.model.apply_counted(call)?;
        Ok((granted(reply)?, cost))
    }

    fn call(&mut self, max_leases: usize) -> Body {
        self.number += 1;
        let max_leases = u32::try_from(max_leases).unwrap_or(u32::MAX);
        Body::Lease(LeaseCall {
            session: vec![7; 16],
            number: self.number,
            max_leases,
            ttl_ms: TTL_MS,
        })
    }

    /// Hosts in memory.
    pub fn active_hosts(&self) -> u64 {
        self.model.machine.status().active_hosts
    }
}

/// The shards with their hosts, made at the same time.
pub fn all(hosts: &Hosts, urls_per_host: u32) -> Result<Vec<Prepared>, CommandError> {
    std::thread::scope(|scope| {
        let shards: Vec<_> = hosts
            .ranges
            .iter()
            .zip(&hosts.by_shard)
            .map(|(range, owned)| scope.spawn(move || Prepared::new(*range, owned, urls_per_host)))
            .collect();
        let joined = shards.into_iter().map(|shard| shard.join());
        joined
            .map(|shard| {
                shard.unwrap_or_else(|_| Err(CommandError::Message("loading panicked".to_owned())))
            })
            .collect()
    })
}

fn link(host: &Host, number: u32) -> pb::Link {
    pb::Link {
        crawl: CRAWL,
        url: format!(
            "http://{}/section-{:02}/page-{number:08}.html",
            host.name,
            number % 37
        ),
        partition: host.partition,
        priority: 128,
        depth: 1,
        ..pb::Link::default()
    }
}

fn granted(reply: CommandReply) -> Result<Vec<Lease>, CommandError> {
    match reply {
        CommandReply::Lease(LeaseReply::Granted { leases, .. }) => Ok(leases),
        other => Err(CommandError::Message(format!(
            "a lease call was answered {other:?}"
        ))),
    }
}

/// Every page stored, every robots file absent, the answers received just now.
pub fn report(leases: &[Lease]) -> Body {
    let item = |lease: &Lease| {
        let outcome = match &lease.work {
            Work::Robots(_) => Outcome::Robots(RobotsOutcome {
                found: Some(RobotsFound {
                    code: RobotsCode::AllowAll as i32,
                    status: 404,
                    ..RobotsFound::default()
                }),
                requeue: false,
            }),
            Work::Page(_) | Work::Errand(_) => Outcome::Page(PageOutcome {
                code: PageCode::Stored as i32,
                status: 200,
                digest: digest(lease.key.fingerprint),
                payload_size_bytes: 10_000,
                etag: format!("\"{:016x}\"", lease.key.fingerprint),
                stores: vec![1],
                ..PageOutcome::default()
            }),
        };
        Report {
            key: Some(lease.key),
            token: lease.token,
            contact: Some(Contact {
                since_first_byte_ms: Some(0),
                ..Contact::default()
            }),
            outcome: Some(outcome),
            undelivered: Vec::new(),
        }
    };
    Body::Report(ReportBatch {
        items: leases.iter().map(item).collect(),
    })
}

/// Thirty-two bytes that do not compress.
pub fn digest(seed: u64) -> Vec<u8> {
    (0..4)
        .flat_map(|part| mix(seed ^ part).to_be_bytes())
        .collect()
}

/// Writes rows into the directory of a closed node, in key order.
pub fn load(dir: &Path, models: &[&Model]) -> Result<u64, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::of("cannot load rows", error);
    let store = RawStore::open(&EngineOptions::new(dir, 1)).map_err(|e| failed(&e))?;
    let mut loaded = 0;
    for model in models {
        let mut batch = RowBatch::new();
        for (key, value) in model.rows.iter() {
            batch.put(key.as_slice(), value.as_slice());
            loaded += 1;
            if batch.len() == ROWS_A_BATCH {
                store
                    .write(&std::mem::take(&mut batch))
                    .map_err(|e| failed(&e))?;
            }
        }
        store.write(&batch).map_err(|e| failed(&e))?;
    }
    store.flush().map_err(|e| failed(&e))?;
    store.compact();
    Ok(loaded)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_ready_for_a_page_and_goes_on_after_it() {
        let hosts = Hosts::new(600, 200, 1);
        let mut prepared = Prepared::new(hosts.ranges[0], &hosts.by_shard[0], 2).unwrap();
        assert_eq!(prepared.active_hosts(), 600);
        let leases = prepared.lease(256).unwrap();
        assert_eq!(leases.len(), 256);
        assert!(
            leases
                .iter()
                .all(|lease| matches!(lease.work, Work::Page(_)))
        );
        prepared.model.apply(report(&leases)).unwrap();
        let terms = prepared.model.machine.status().terms;
        assert_eq!(
            (terms.accepted, terms.done, terms.leased, terms.queued),
            (1_200, 256, 0, 944)
        );
    }
}
