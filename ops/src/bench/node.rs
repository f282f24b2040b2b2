//! A real node in this process, with its servers on loopback, and clients of them.

use super::urls::CRAWL;
use crate::cluster::sum_of_terms;
use crate::output::{self, CommandError};
use crate::policy::{self, PolicyError};
use client::{Frontier, GrpcFrontier, Router};
use frontier_node::{FrontierNode, NodeOptions};
use proto::frontier_v1 as pb;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::JoinHandle;

/// How long opening a node of millions of rows may take.
const LEADING_WITHIN: Duration = Duration::from_secs(120);

/// A node that serves.
pub struct BenchNode {
    node: Arc<FrontierNode>,
    servers: Vec<JoinHandle<()>>,
    grpc_address: String,
    http_address: String,
}

impl BenchNode {
    /// Opens a directory and serves it.
    pub async fn open(dir: &Path, shards: u64, expected_urls: u64) -> Result<Self, CommandError> {
        let mut options = NodeOptions::new(dir, shards);
        options.expected_urls = expected_urls.max(1_000);
        let node = FrontierNode::open(options)
            .await
            .map_err(|e| CommandError::of("cannot open the frontier", e))?;
        if !node.wait_until_leading(LEADING_WITHIN).await {
            return Err(CommandError::Message(
                "the frontier's shards did not start in time".to_owned(),
            ));
        }
        let node = Arc::new(node);
        let (grpc, grpc_address) = listen().await?;
        let (http, http_address) = listen().await?;
        let (for_grpc, for_http) = (Arc::clone(&node), Arc::clone(&node));
        let serve_grpc = async move {
            if let Err(error) = for_grpc.serve_grpc(grpc, false).await {
                output::note(format_args!("escapement: {error}"));
            }
        };
        let serve_http = async move {
            if let Err(error) = for_http.serve_http(http, false).await {
                output::note(format_args!("escapement: {error}"));
            }
        };
        let servers = vec![tokio::spawn(serve_grpc), tokio::spawn(serve_http)];
        Ok(Self {
            node,
            servers,
            grpc_address,
            http_address,
        })
    }

    /// The frontier in this process, without gRPC.
    pub fn frontier(&self) -> Arc<dyn Frontier> {
        self.node.frontier()
    }

    /// A router in this process.
    pub fn router(&self) -> Arc<Router> {
        self.node.router()
    }

    /// A client with a connection of its own.
    pub fn client(&self) -> Result<Arc<dyn Frontier>, CommandError> {
        let client = GrpcFrontier::new(&self.grpc_address)
            .map_err(|e| CommandError::of("cannot connect", e))?;
        Ok(Arc::new(client.with_timeout_ms(60_000)))
    }

    /// Waits until the filter of known URLs is complete.
    pub async fn wait_for_filter(&self) {
        while !self.node.filter_is_complete() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Creates the crawl in every shard.
    pub async fn create_crawl(&self) -> Result<(), CommandError> {
        for entry in self.router().shards() {
            policy::set(&*self.frontier(), entry.shard, impatient())
                .await
                .map_err(PolicyError::into_command)?;
        }
        Ok(())
    }

    /// Counters of all shards together.
    pub async fn status(&self) -> Result<pb::ConservationTerms, CommandError> {
        let mut statuses = Vec::new();
        for entry in self.router().shards() {
            let request = pb::ShardStatusRequest { shard: entry.shard };
            let status = self.frontier().shard_status(request).await;
            statuses.push(status.map_err(|e| CommandError::of("cannot read a shard", e))?);
        }
        Ok(sum_of_terms(&statuses))
    }

    /// The node's metrics by name with labels, as anyone reads them.
    pub async fn metrics(&self) -> Result<NodeMetrics, CommandError> {
        NodeMetrics::read(&self.http_address).await
    }

    /// Stops serving, flushes and closes.
    pub async fn close(self) -> Result<(), CommandError> {
        for server in self.servers {
            server.abort();
            // It was aborted or had ended.
            let _ = server.await;
        }
        let node = Arc::try_unwrap(self.node);
        node.map_err(|_| CommandError::Message("the node is still in use".to_owned()))?
            .close()
            .await;
        Ok(())
    }
}

async fn listen() -> Result<(TcpListener, String), CommandError> {
    let failed = |e| CommandError::io("cannot listen on loopback", e);
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?.to_string();
    Ok((listener, address))
}

/// A crawl whose politeness costs next to nothing, so that a bench measures work and not waiting: one millisecond between
/// contacts, whatever the response time.
pub fn impatient() -> pb::CrawlPolicy {
    pb::CrawlPolicy {
        crawl: CRAWL,
        min_delay_ms: 1,
        response_time_factor_tenths: 1,
        response_time_delay_cap_ms: 1,
        max_depth: 255,
        max_hosts_per_site: 100_000_000,
        ..pb::CrawlPolicy::default()
    }
}

/// Metrics at one moment.
#[derive(Debug, Default)]
pub struct NodeMetrics(BTreeMap<String, f64>);

impl NodeMetrics {
    /// Reads those of the process at an address.
    pub async fn read(address: impl ToSocketAddrs) -> Result<Self, CommandError> {
        let failed = |e| CommandError::io("cannot read the metrics", e);
        let mut stream = TcpStream::connect(address).await.map_err(failed)?;
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.map_err(failed)?;
        Ok(Self::parse(&text))
    }

    /// Adds those of another process, name by name.
    pub fn add(&mut self, other: Self) {
        for (name, value) in other.0 {
            *self.0.entry(name).or_default() += value;
        }
    }

    /// All that begin like that, together: a family with whatever labels.
    pub fn sum(&self, prefix: &str) -> f64 {
        let from = self.0.range(prefix.to_owned()..);
        let like = from.take_while(|(name, _)| name.starts_with(prefix));
        like.map(|(_, value)| value).sum()
    }

    /// A figure or a counter of the node.
    pub fn node(&self, what: &str) -> f64 {
        self.get(&format!("escapement_node{{what=\"{what}\"}}"))
            + self.get(&format!("escapement_node_events_total{{what=\"{what}\"}}"))
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        Self(
            lines
                .filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)))
                .collect(),
        )
    }

    /// A counter of the replicated log.
    pub fn log(&self, what: &str) -> f64 {
        self.get(&format!("escapement_log_total{{what=\"{what}\"}}"))
    }

    /// Looks at the filter of known URLs that ended like that.
    pub fn filter_checks(&self, end: &str) -> f64 {
        self.get(&format!("escapement_filter_checks_total{{end=\"{end}\"}}"))
    }

    /// Any metric, by name and labels; 0 when it is not there.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_several_processes_add_up() {
        let text = "# HELP a b\ncalls{call=\"lease\",end=\"ok\"} 3\ncalls{call=\"report\",end=\"ok\"} 4\nother 1\n";
        let mut both = NodeMetrics::parse(text);
        both.add(NodeMetrics::parse("calls{call=\"lease\",end=\"ok\"} 2\n"));
        assert_eq!(both.sum("calls{"), 9.0);
        assert_eq!(both.sum("calls{call=\"lease\""), 5.0);
        assert_eq!((both.get("other"), both.sum("no_such")), (1.0, 0.0));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_node_serves_its_metrics_and_closes() {
        let dir = tempfile::tempdir().unwrap();
        let node = BenchNode::open(dir.path(), 2, 1_000).await.unwrap();
        node.create_crawl().await.unwrap();
        let map = node
            .client()
            .unwrap()
            .shard_map(pb::ShardMapRequest {})
            .await
            .unwrap();
        assert_eq!(map.shards.len(), 2);
        let metrics = node.metrics().await.unwrap();
        assert!(metrics.log("fsyncs") > 0.0 && metrics.log("no_such") == 0.0);
        node.close().await.unwrap();
    }
}
