//! What a load goes to: one node in this process, or several in processes of their own.

use super::cluster::{BenchCluster, Shape};
use super::node::{BenchNode, NodeMetrics, impatient};
use crate::output::CommandError;
use client::Frontier;
use proto::frontier_v1 as pb;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most replicas that a bench starts on one machine.
pub const MOST_REPLICAS: i64 = 7;

/// A frontier that rests.
pub enum Closed {
    /// Its directory.
    One(PathBuf),
    /// A cluster of which no node runs.
    Cluster(Box<BenchCluster>),
}

impl Closed {
    /// Opens it again.
    pub async fn open(self, shards: u64, expected_urls: u64) -> Result<Target, CommandError> {
        match self {
            Self::One(dir) => Ok(Target::One(
                BenchNode::open(&dir, shards, expected_urls).await?,
            )),
            Self::Cluster(mut cluster) => {
                cluster.start_nodes().await?;
                Ok(Target::Cluster(cluster))
            }
        }
    }
}

/// A frontier under load.
pub enum Target {
    /// One replica, in this process.
    One(BenchNode),
    /// Several, each a process.
    Cluster(Box<BenchCluster>),
}

impl Target {
    /// Opens it: one replica in this process, more in processes of their own.
    pub async fn open(
        replicas: u32,
        dir: &Path,
        shards: u64,
        expected_urls: u64,
    ) -> Result<Self, CommandError> {
        if replicas <= 1 {
            return Ok(Self::One(
                BenchNode::open(dir, shards, expected_urls).await?,
            ));
        }
        let shape = Shape::nodes(replicas, shards, expected_urls);
        let cluster = BenchCluster::start(&shape, dir).await?;
        Ok(Self::Cluster(Box::new(cluster)))
    }

    /// The same with a crawl in every shard, once known URLs can be told from new ones.
    pub async fn open_for_offers(
        replicas: u32,
        dir: &Path,
        shards: u64,
        expected_urls: u64,
    ) -> Result<Self, CommandError> {
        let target = Self::open(replicas, dir, shards, expected_urls).await?;
        target.create_crawl().await?;
        target.wait_for_filter().await?;
        Ok(target)
    }

    /// Ends it cleanly, to be opened again after rows were loaded into the directories of its nodes, which are told.
    pub async fn set_down(self, dir: &Path) -> Result<(Vec<PathBuf>, Closed), CommandError> {
        match self {
            Self::One(node) => {
                node.close().await?;
                Ok((vec![dir.to_owned()], Closed::One(dir.to_owned())))
            }
            Self::Cluster(mut cluster) => {
                cluster.stop_nodes().await?;
                let numbers = cluster.processes.node_numbers().into_iter();
                let dirs = numbers.map(|number| cluster.node_dir(number)).collect();
                Ok((dirs, Closed::Cluster(cluster)))
            }
        }
    }

    /// Creates the crawl in every shard.
    pub async fn create_crawl(&self) -> Result<(), CommandError> {
        match self {
            Self::One(node) => node.create_crawl().await,
            Self::Cluster(cluster) => cluster.control.set_policy(&impatient()).await,
        }
    }

    /// Waits until the filters of known URLs are complete.
    pub async fn wait_for_filter(&self) -> Result<(), CommandError> {
        match self {
            Self::One(node) => {
                node.wait_for_filter().await;
                Ok(())
            }
            Self::Cluster(cluster) => cluster.wait_for_filters().await,
        }
    }

    /// A client with connections of its own.
    pub async fn client(&self) -> Result<Arc<dyn Frontier>, CommandError> {
        match self {
            Self::One(node) => node.client(),
            Self::Cluster(cluster) => cluster.client().await,
        }
    }

    /// The shards.
    pub fn shards(&self) -> Vec<u64> {
        match self {
            Self::One(node) => {
                let entries = node.router().shards();
                entries.iter().map(|entry| entry.shard).collect()
            }
            Self::Cluster(cluster) => cluster.control.shards(),
        }
    }

    /// Metrics, of all replicas together.
    pub async fn metrics(&self) -> Result<NodeMetrics, CommandError> {
        match self {
            Self::One(node) => node.metrics().await,
            Self::Cluster(cluster) => cluster.metrics().await,
        }
    }

    /// Counters of all shards together.
    pub async fn terms(&self) -> Result<pb::ConservationTerms, CommandError> {
        match self {
            Self::One(node) => node.status().await,
            Self::Cluster(cluster) => cluster.terms().await,
        }
    }

    /// CPU seconds of processes other than this one.
    pub fn cpu_seconds(&self) -> f64 {
        match self {
            Self::One(_) => 0.0,
            Self::Cluster(cluster) => cluster.nodes_cpu_seconds(),
        }
    }

    /// Ends it cleanly.
    pub async fn close(self) -> Result<(), CommandError> {
        match self {
            Self::One(node) => node.close().await,
            Self::Cluster(mut cluster) => cluster.stop_nodes().await,
        }
    }
}
