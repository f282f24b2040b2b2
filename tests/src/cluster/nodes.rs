//! The nodes of one cluster: addresses, directories, command lines.

use super::Process;
use crate::program::frontier_node;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU8, Ordering};

/// Clusters that this process has made; each has a loopback address of its own.
static CLUSTERS: AtomicU8 = AtomicU8::new(0);
/// Shards of each cluster, where no number is given.
const SHARDS: u32 = 2;

/// Nodes 1, 2, 3 ... of one cluster; those that run.
#[derive(Debug)]
pub struct Nodes {
    base: PathBuf,
    grpc: Vec<SocketAddr>,
    http: Vec<SocketAddr>,
    shards: u32,
    running: Vec<Option<Process>>,
}

impl Nodes {
    /// Finds ports for `count` nodes and makes their directories below `base`. Nothing runs yet.
    pub fn new(base: &Path, count: usize) -> Self {
        let [.., third, fourth] = std::process::id().to_be_bytes();
        let nth = CLUSTERS.fetch_add(1, Ordering::Relaxed) % 100;
        // Nobody else uses the address, so a port that a killed node left is taken by nobody before its restart.
        let host = Ipv4Addr::new(127, 128 + nth, third, fourth);
        let held: Vec<_> = (0..2 * count)
            .map(|_| TcpListener::bind((host, 0)).unwrap())
            .collect();
        let addresses: Vec<_> = held.iter().map(|l| l.local_addr().unwrap()).collect();
        let (grpc, http) = addresses.split_at(count);
        let nodes = Self {
            base: base.to_owned(),
            grpc: grpc.to_vec(),
            http: http.to_vec(),
            shards: SHARDS,
            running: (0..count).map(|_| None).collect(),
        };
        for number in nodes.numbers() {
            std::fs::create_dir_all(nodes.dir(number)).unwrap();
        }
        nodes
    }

    /// With so many shards.
    pub fn with_shards(self, shards: u32) -> Self {
        Self { shards, ..self }
    }

    /// The numbers of all nodes.
    pub fn numbers(&self) -> std::ops::RangeInclusive<usize> {
        1..=self.grpc.len()
    }

    /// Where a node keeps everything.
    pub fn dir(&self, number: usize) -> PathBuf {
        self.base.join(format!("node-{number}"))
    }

    /// The gRPC addresses.
    pub fn addresses(&self) -> Vec<String> {
        self.grpc.iter().map(SocketAddr::to_string).collect()
    }

    /// How a node is started.
    pub fn command(&self, number: usize) -> Command {
        let mut command = Command::new(frontier_node());
        command
            .args(["--node", &number.to_string(), "--dir"])
            .arg(self.dir(number))
            .args(["--listen", &self.grpc[number - 1].to_string()])
            .args(["--http-listen", &self.http[number - 1].to_string()])
            .args(["--shards", &self.shards.to_string()])
            .args(["--expected-urls", "100000", "--min-free-bytes", "1000000"]);
        for (other, address) in self.numbers().zip(&self.grpc) {
            command.args(["--peer", &format!("{other}={address}")]);
        }
        command
    }

    /// Starts a node by a command of its own.
    pub fn start_by(&mut self, number: usize, command: Command) {
        let process = Process::start(command, &self.base, &format!("node-{number}"));
        self.running[number - 1] = Some(process);
    }

    /// Starts every node that does not run.
    pub fn start_all(&mut self) {
        for number in self.numbers() {
            if self.running[number - 1].is_none() {
                self.start_by(number, self.command(number));
            }
        }
    }

    /// Waits until all that run are ready; why one is not.
    pub async fn wait_ready(&mut self) -> Result<(), String> {
        for (index, process) in self.running.iter_mut().enumerate() {
            if let Some(process) = process {
                let ready = process.wait_ready().await;
                ready.map_err(|why| format!("node {}: {why}", index + 1))?;
            }
        }
        Ok(())
    }

    /// Starts those that do not run, and waits for all.
    pub async fn start_ready(&mut self) -> Result<(), String> {
        self.start_all();
        self.wait_ready().await
    }

    /// A node that runs.
    pub fn process(&mut self, number: usize) -> &mut Process {
        self.running[number - 1].as_mut().unwrap()
    }

    /// SIGKILL.
    pub fn kill(&mut self, number: usize) {
        if let Some(mut process) = self.running[number - 1].take() {
            process.kill();
        }
    }

    /// SIGTERM to all that run; how each ended.
    pub async fn terminate_all(&mut self) -> Vec<ExitStatus> {
        let running = self.running.iter_mut().filter_map(Option::take);
        let ends = running.map(|mut process| async move { process.terminate().await });
        futures::future::join_all(ends).await
    }
}
