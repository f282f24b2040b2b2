//! The machine alone, over rows in a map: it tells which bytes a command costs a node's log and rows.

use super::urls::CRAWL;
use crate::output::CommandError;
use frontier_node::ShardRange;
use machine::command::discover::{Discover, Item, ItemKind, Link};
use machine::command::set_policy::{CrawlPolicy, Policy, SetPolicy};
use machine::{Body, Command, CommandReply, Entry, Machine, Overlay, Rows, RowsError, ShardId};
use prost::Message;
use proto::frontier_v1 as pb;
use raftlog::RowBatch;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};
use urlkey::limits::HARD_MAX_URL_BYTES;
use urlkey::{CanonicalUrl, CrawlId, FingerprintKey};

/// A row.
pub type Row = (Vec<u8>, Vec<u8>);

/// One read of rows.
#[derive(Debug, Clone)]
pub enum Read {
    /// Of one key.
    Get(Vec<u8>),
    /// From, to, limit.
    Scan(Vec<u8>, Vec<u8>, usize),
}

/// Rows in a map. Reads are kept while they are traced.
#[derive(Debug, Default)]
pub struct MapRows {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    trace: RefCell<Option<Vec<Read>>>,
}

impl MapRows {
    /// All rows in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        self.rows.iter()
    }

    /// From now on reads are kept.
    pub fn start_trace(&mut self) {
        self.trace = RefCell::new(Some(Vec::new()));
    }

    /// The reads kept since the last call.
    pub fn take_trace(&mut self) -> Vec<Read> {
        self.trace
            .get_mut()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// No more reads are kept.
    pub fn stop_trace(&mut self) {
        self.trace = RefCell::new(None);
    }

    /// Applies changes; `None` deletes.
    pub fn commit(&mut self, changes: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) {
        for (key, value) in changes {
            match value {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }

    fn keep(&self, read: impl FnOnce() -> Read) {
        if let Some(trace) = self.trace.borrow_mut().as_mut() {
            trace.push(read());
        }
    }
}

impl Rows for MapRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RowsError> {
        self.keep(|| Read::Get(key.to_vec()));
        Ok(self.rows.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Row>, RowsError> {
        self.keep(|| Read::Scan(from.to_vec(), to.to_vec(), limit));
        let range = self
            .rows
            .range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        Ok(range
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }
}

/// What one entry costs.
#[derive(Debug)]
pub struct Cost {
    /// The log's record.
    pub payload: Vec<u8>,
    /// Changes of rows, in key order.
    pub changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Cost {
    /// The changes as a batch of the state database.
    pub fn batch(&self) -> RowBatch {
        let mut rows = RowBatch::new();
        for (key, value) in &self.changes {
            match value {
                Some(value) => rows.put(key.as_slice(), value.as_slice()),
                None => rows.delete(key.as_slice()),
            }
        }
        rows
    }
}

/// A shard that is nothing but its machine and its rows.
#[derive(Debug)]
pub struct Model {
    /// The machine.
    pub machine: Machine,
    /// Its rows.
    pub rows: MapRows,
    /// Shard time of the next entry.
    pub now_ms: u64,
    /// Wall stamp of the next entry, Unix ms.
    pub wall_unix_ms: u64,
}

impl Model {
    /// A new shard with the crawl.
    pub fn new(range: ShardRange, policy: pb::CrawlPolicy) -> Result<Self, CommandError> {
        let mut overlay = Overlay::default();
        let machine = Machine::create(ShardId(range.shard), range.first, range.last, &mut overlay);
        let mut rows = MapRows::default();
        rows.commit(overlay.drain());
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let wall_unix_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        let mut model = Self {
            machine,
            rows,
            now_ms: 1_000_000,
            wall_unix_ms,
        };
        let policy = CrawlPolicy {
            crawl: policy.crawl,
            min_delay_ms: policy.min_delay_ms,
            response_time_factor_tenths: policy.response_time_factor_tenths,
            response_time_delay_cap_ms: policy.response_time_delay_cap_ms,
            max_depth: policy.max_depth,
            max_hosts_per_site: policy.max_hosts_per_site,
            host_budget_pages: policy.host_budget_pages,
            ..CrawlPolicy::default()
        };
        model.apply(Body::SetPolicy(SetPolicy {
            policy: Some(Policy::Crawl(policy)),
        }))?;
        Ok(model)
    }

    /// Applies one command as an entry of its own.
    pub fn apply(&mut self, body: Body) -> Result<CommandReply, CommandError> {
        let entry = self.entry(body);
        let mut overlay = Overlay::default();
        let reply = self.step(&entry, &mut overlay)?;
        self.rows.commit(overlay.drain());
        Ok(reply)
    }

    /// The same, and what it cost.
    pub fn apply_counted(&mut self, body: Body) -> Result<(CommandReply, Cost), CommandError> {
        let entry = self.entry(body);
        let mut overlay = Overlay::default();
        let reply = self.step(&entry, &mut overlay)?;
        let changes: Vec<_> = overlay.drain().collect();
        self.rows.commit(changes.iter().cloned());
        Ok((
            reply,
            Cost {
                payload: entry.encode_to_vec(),
                changes,
            },
        ))
    }

    fn entry(&self, body: Body) -> Entry {
        Entry {
            now_ms: self.now_ms,
            wall_unix_ms: self.wall_unix_ms,
            commands: vec![Command { body: Some(body) }],
        }
    }

    fn step(&mut self, entry: &Entry, overlay: &mut Overlay) -> Result<CommandReply, CommandError> {
        let reply = self.machine.apply(&self.rows, entry, overlay);
        let mut reply = reply.map_err(|e| CommandError::of("the machine failed", e))?;
        reply
            .replies
            .pop()
            .ok_or_else(|| CommandError::Message("the machine did not reply".to_owned()))
    }
}

/// Links as a node puts them into its log, with the fingerprints of a zero key.
pub fn discover(links: impl Iterator<Item = pb::Link>) -> Result<Body, CommandError> {
    let item = |link: pb::Link| {
        let url = CanonicalUrl::verify(&link.url, HARD_MAX_URL_BYTES)
            .map_err(|e| CommandError::of("a bench's URL is not canonical", e))?;
        let fingerprint = FingerprintKey::ZERO.fingerprint(CrawlId(CRAWL), &url).0;
        let link = Link {
            crawl: link.crawl,
            url: link.url,
            partition: link.partition,
            fingerprint,
            priority: link.priority,
            depth: link.depth,
            ..Link::default()
        };
        Ok(Item {
            kind: Some(ItemKind::Link(link)),
        })
    };
    let items: Result<Vec<Item>, CommandError> = links.map(item).collect();
    Ok(Body::Discover(Discover { items: items? }))
}

/// The `seen` rows of a command's links.
pub fn seen_keys(body: &Body) -> Vec<Vec<u8>> {
    let Body::Discover(batch) = body else {
        return Vec::new();
    };
    let key = |item: &Item| match &item.kind {
        Some(ItemKind::Link(link)) => Some(machine::seen_key(link.partition, link.fingerprint)),
        _ => None,
    };
    batch.items.iter().filter_map(key).collect()
}
