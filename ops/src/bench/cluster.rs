//! Nodes and fetchers as real processes on loopback, and clients of them.

use super::measure::cpu_seconds_of;
use super::node::NodeMetrics;
use crate::cluster::{Addresses, Cluster, Control, FetcherSpec, NodeSpec, Programs, sum_of_terms};
use crate::output::CommandError;
use client::{Frontier, RoutedFrontier, Router, RouterOptions};
use proto::frontier_v1 as pb;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use urlkey::SuffixList;

/// Longest time of one attempt of a call, ms: a node that is slow under load is not taken for a dead one.
const ATTEMPT_MS: u64 = 10_000;
/// Longest time of a call with all its attempts, ms.
const CALL_MS: u64 = 60_000;
/// How long the filters may take to be complete.
const FILTER_WITHIN: Duration = Duration::from_secs(120);
/// How often the state of the shards is asked for.
const STATUS_TRIES: u32 = 20;
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a lease lasts.
const LEASE_TTL: Duration = Duration::from_secs(60);
/// Longest time of one fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);

/// What a cluster is made of.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Nodes; each holds a replica of every shard.
    pub nodes: u32,
    /// Shards.
    pub shards: u64,
    /// URLs that a node's filter is sized for.
    pub expected_urls: u64,
    /// Whether the nodes keep pages.
    pub pages: bool,
    /// Fetchers.
    pub fetchers: u32,
    /// Open fetches of each.
    pub open_fetches: u32,
    /// Where all hosts of the web are, for the fetchers.
    pub web: SocketAddr,
}

impl Shape {
    /// Nodes alone.
    pub fn nodes(nodes: u32, shards: u64, expected_urls: u64) -> Self {
        Self {
            nodes,
            shards,
            expected_urls: expected_urls.max(1_000),
            pages: false,
            fetchers: 0,
            open_fetches: 1,
            web: SocketAddr::from(([127, 0, 0, 1], 9)),
        }
    }
}

/// A running cluster. Its processes end with this value.
pub struct BenchCluster {
    /// The processes.
    pub processes: Cluster,
    /// The nodes over gRPC.
    pub control: Control,
    addresses: Addresses,
    dir: PathBuf,
}

impl BenchCluster {
    /// Starts the nodes, and waits until each shard has a leader. Fetchers are not started yet.
    pub async fn start(shape: &Shape, dir: &Path) -> Result<Self, CommandError> {
        let addresses = Addresses::loopback(shape.nodes)?;
        let nodes = (1..=shape.nodes).map(|number| node(number, shape, &addresses, dir));
        let fetcher = FetcherSpec {
            frontier: addresses.grpc_list(),
            web: shape.web,
            copies: shape.nodes.min(2),
            open_fetches: shape.open_fetches,
            lease_ttl: LEASE_TTL,
            fetch_timeout: FETCH_TIMEOUT,
        };
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let programs = Programs::beside_this()?;
        let mut processes = Cluster::new(programs, dir, nodes, fetcher, shape.fetchers)?;
        processes.start_nodes().await?;
        let control = Control::connect(&addresses).await?;
        let cluster = Self {
            processes,
            control,
            addresses,
            dir: dir.to_owned(),
        };
        cluster.wait_leaders().await?;
        Ok(cluster)
    }

    /// Waits until each shard has a leader.
    pub async fn wait_leaders(&self) -> Result<(), CommandError> {
        for shard in self.control.shards() {
            self.control.wait_leader(shard).await?;
        }
        Ok(())
    }

    /// Waits until the filter of every shard is complete on every node.
    pub async fn wait_for_filters(&self) -> Result<(), CommandError> {
        let until = Instant::now() + FILTER_WITHIN;
        let shards = self.control.shards();
        for number in self.processes.node_numbers() {
            let complete = |metrics: &NodeMetrics| {
                let of = |shard: &u64| {
                    metrics.get(&format!(
                        "escapement_shard{{shard=\"{shard}\",what=\"filter_complete\"}}"
                    )) > 0.0
                };
                shards.iter().all(of)
            };
            while !complete(&self.node_metrics(number).await?) {
                if Instant::now() > until {
                    return Err(CommandError::Message(format!(
                        "the filter of node {number} was not complete in {} s",
                        FILTER_WITHIN.as_secs()
                    )));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// A client that finds the leaders, with connections of its own.
    pub async fn client(&self) -> Result<Arc<dyn Frontier>, CommandError> {
        Ok(Arc::new(RoutedFrontier::new(self.router().await?)))
    }

    /// What finds shards and leaders, with connections of its own.
    pub async fn router(&self) -> Result<Arc<Router>, CommandError> {
        let options = RouterOptions {
            attempt_ms: ATTEMPT_MS,
            call_ms: CALL_MS,
            ..RouterOptions::new(SuffixList::shipped())
        };
        let router = Router::connect_addresses(self.addresses.grpc_list(), options).await;
        let router = router.map_err(|e| CommandError::of("cannot connect", e))?;
        Ok(Arc::new(router))
    }

    /// The directory of a node.
    pub fn node_dir(&self, number: u32) -> PathBuf {
        self.dir.join(format!("node-{number}"))
    }

    /// Metrics of one node.
    pub async fn node_metrics(&self, number: u32) -> Result<NodeMetrics, CommandError> {
        let address = self.addresses.http.get(&number);
        let address =
            address.ok_or_else(|| CommandError::Message(format!("there is no node {number}")))?;
        NodeMetrics::read(address).await
    }

    /// Metrics of all nodes together.
    pub async fn metrics(&self) -> Result<NodeMetrics, CommandError> {
        let mut all = NodeMetrics::default();
        for number in self.processes.node_numbers() {
            all.add(self.node_metrics(number).await?);
        }
        Ok(all)
    }

    /// Counters of all shards together, as their newest replicas show them.
    pub async fn terms(&self) -> Result<pb::ConservationTerms, CommandError> {
        Ok(sum_of_terms(&self.statuses().await?))
    }

    /// Every shard; asked again for a while when the nodes are too busy to answer.
    async fn statuses(&self) -> Result<Vec<pb::ShardStatusResponse>, CommandError> {
        for _ in 1..STATUS_TRIES {
            if let Ok(statuses) = self.control.statuses().await {
                return Ok(statuses);
            }
        }
        self.control.statuses().await
    }

    /// CPU seconds of all nodes that run.
    pub fn nodes_cpu_seconds(&self) -> f64 {
        let numbers = self.processes.node_numbers().into_iter();
        let pids = numbers.filter_map(|number| self.processes.node_pid(number));
        pids.map(cpu_seconds_of).sum()
    }

    /// CPU seconds of all fetchers that run.
    pub fn fetchers_cpu_seconds(&self) -> f64 {
        let numbers = self.processes.fetcher_numbers().into_iter();
        let pids = numbers.filter_map(|number| self.processes.fetcher_pid(number));
        pids.map(cpu_seconds_of).sum()
    }

    /// Ends the nodes cleanly, so that their directories hold all.
    pub async fn stop_nodes(&mut self) -> Result<(), CommandError> {
        for number in self.processes.node_numbers() {
            self.processes.terminate_node(number).await?;
        }
        Ok(())
    }

    /// Starts the nodes again.
    pub async fn start_nodes(&mut self) -> Result<(), CommandError> {
        self.processes.start_nodes().await?;
        self.wait_leaders().await
    }

    /// Ends the fetchers cleanly.
    pub async fn stop_fetchers(&mut self) -> Result<(), CommandError> {
        for number in self.processes.fetcher_numbers() {
            self.processes.terminate_fetcher(number).await?;
        }
        Ok(())
    }
}

fn node(
    number: u32,
    shape: &Shape,
    addresses: &Addresses,
    dir: &Path,
) -> Result<NodeSpec, CommandError> {
    let shards = u32::try_from(shape.shards).unwrap_or(u32::MAX);
    let spec = NodeSpec::new(number, addresses, dir, shards);
    let mut spec =
        spec.ok_or_else(|| CommandError::Message(format!("node {number} has no address")))?;
    spec.extra = vec![
        "--expected-urls".to_owned(),
        shape.expected_urls.to_string(),
    ];
    if !shape.pages {
        spec.extra.push("--no-store".to_owned());
    }
    Ok(spec)
}
