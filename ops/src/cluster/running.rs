//! All processes of one cluster.

use super::process::Process;
use super::{FetcherSpec, NodeSpec, Programs};
use crate::output::CommandError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A node: how it is started, and the process while there is one.
#[derive(Debug)]
struct Node {
    spec: NodeSpec,
    process: Option<Process>,
    replica: Option<u64>,
}

/// Nodes and fetchers. All end with this value.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    logs: PathBuf,
    nodes: BTreeMap<u32, Node>,
    fetcher: FetcherSpec,
    fetchers: BTreeMap<u32, Option<Process>>,
}

impl Cluster {
    /// Nothing runs yet. Logs go to `dir/logs`.
    pub fn new(
        programs: Programs,
        dir: &Path,
        nodes: Vec<NodeSpec>,
        fetcher: FetcherSpec,
        fetchers: u32,
    ) -> Result<Self, CommandError> {
        let logs = dir.join("logs");
        std::fs::create_dir_all(&logs)
            .map_err(|e| CommandError::io(format!("cannot make {}", logs.display()), e))?;
        let mut cluster = Self {
            programs,
            logs,
            nodes: BTreeMap::new(),
            fetcher,
            fetchers: (1..=fetchers).map(|number| (number, None)).collect(),
        };
        for spec in nodes {
            cluster.add_node(spec);
        }
        Ok(cluster)
    }

    /// One more node, which does not run yet.
    pub fn add_node(&mut self, spec: NodeSpec) {
        let node = Node {
            process: None,
            replica: None,
            spec,
        };
        self.nodes.insert(node.spec.number, node);
    }

    /// Numbers of all nodes.
    pub fn node_numbers(&self) -> Vec<u32> {
        self.nodes.keys().copied().collect()
    }

    /// Numbers of all fetchers.
    pub fn fetcher_numbers(&self) -> Vec<u32> {
        self.fetchers.keys().copied().collect()
    }

    /// Starts a node that does not run; `wait_node` waits until it is ready.
    pub fn start_node(&mut self, number: u32) -> Result<(), CommandError> {
        let log = self.logs.join(format!("node-{number}.log"));
        let program = self.programs.node.clone();
        let node = self.node_mut(number)?;
        if node.process.is_none() {
            std::fs::create_dir_all(&node.spec.dir)
                .map_err(|e| CommandError::io("cannot make a node's directory", e))?;
            let command = node.spec.command(&program);
            node.process = Some(Process::start(&format!("node {number}"), command, &log)?);
        }
        Ok(())
    }

    /// Waits until a started node is ready; gives its replica id.
    pub async fn wait_node(&mut self, number: u32) -> Result<u64, CommandError> {
        let ready = self.node_process(number)?.wait_ready().await?;
        let replica = ready.number("replica").ok_or_else(|| {
            CommandError::Message(format!("node {number} did not say which replica it is"))
        })?;
        self.node_mut(number)?.replica = Some(replica);
        Ok(replica)
    }

    /// Starts every node that does not run, and waits for all of these.
    pub async fn start_nodes(&mut self) -> Result<(), CommandError> {
        let down = self.node_numbers().into_iter().filter(|n| !self.runs(*n));
        let down: Vec<u32> = down.collect();
        for number in &down {
            self.start_node(*number)?;
        }
        for number in down {
            self.wait_node(number).await?;
        }
        Ok(())
    }

    /// The replica id a node last said it has.
    pub fn replica(&self, number: u32) -> Option<u64> {
        self.nodes.get(&number)?.replica
    }

    /// Whether a node's process was started and not ended by us.
    pub fn runs(&self, number: u32) -> bool {
        self.nodes
            .get(&number)
            .is_some_and(|node| node.process.is_some())
    }

    /// The pid of a node that runs.
    pub fn node_pid(&self, number: u32) -> Option<u32> {
        Some(self.nodes.get(&number)?.process.as_ref()?.id())
    }

    /// The pid of a fetcher that runs.
    pub fn fetcher_pid(&self, number: u32) -> Option<u32> {
        Some(self.fetchers.get(&number)?.as_ref()?.id())
    }

    /// SIGKILL to a node.
    pub fn kill_node(&mut self, number: u32) -> Result<(), CommandError> {
        self.node_process(number)?.kill()?;
        self.node_mut(number)?.process = None;
        Ok(())
    }

    /// SIGTERM to a node; it must end with success.
    pub async fn terminate_node(&mut self, number: u32) -> Result<(), CommandError> {
        self.node_process(number)?.terminate().await?;
        self.node_mut(number)?.process = None;
        Ok(())
    }

    /// SIGSTOP to a node.
    pub fn pause_node(&mut self, number: u32) -> Result<(), CommandError> {
        self.node_process(number)?.pause()
    }

    /// SIGCONT to a node.
    pub fn resume_node(&mut self, number: u32) -> Result<(), CommandError> {
        self.node_process(number)?.resume()
    }

    /// Takes away everything a dead node wrote; the directory itself stays.
    pub fn wipe_node(&mut self, number: u32) -> Result<(), CommandError> {
        let node = self.node_mut(number)?;
        if node.process.is_some() {
            return Err(CommandError::Message(format!("node {number} still runs")));
        }
        let dir = node.spec.dir.clone();
        empty(&dir).map_err(|e| CommandError::io(format!("cannot empty {}", dir.display()), e))
    }

    /// Starts a fetcher that does not run, and waits until it is ready.
    pub async fn start_fetcher(&mut self, number: u32) -> Result<(), CommandError> {
        let log = self.logs.join(format!("fetcher-{number}.log"));
        let command = self.fetcher.command(&self.programs.fetcher);
        let slot = self.fetcher_mut(number)?;
        if slot.is_none() {
            let process = Process::start(&format!("fetcher {number}"), command, &log)?;
            slot.insert(process).wait_ready().await?;
        }
        Ok(())
    }

    /// Starts every fetcher that does not run.
    pub async fn start_fetchers(&mut self) -> Result<(), CommandError> {
        for number in self.fetcher_numbers() {
            self.start_fetcher(number).await?;
        }
        Ok(())
    }

    /// SIGKILL to a fetcher.
    pub fn kill_fetcher(&mut self, number: u32) -> Result<(), CommandError> {
        self.fetcher_process(number)?.kill()?;
        *self.fetcher_mut(number)? = None;
        Ok(())
    }

    /// SIGTERM to a fetcher; it must end with success.
    pub async fn terminate_fetcher(&mut self, number: u32) -> Result<(), CommandError> {
        self.fetcher_process(number)?.terminate().await?;
        *self.fetcher_mut(number)? = None;
        Ok(())
    }

    /// SIGSTOP to a fetcher.
    pub fn pause_fetcher(&mut self, number: u32) -> Result<(), CommandError> {
        self.fetcher_process(number)?.pause()
    }

    /// SIGCONT to a fetcher.
    pub fn resume_fetcher(&mut self, number: u32) -> Result<(), CommandError> {
        self.fetcher_process(number)?.resume()
    }

    /// A process that ended by itself is an error, with the end of its log.
    pub fn check_alive(&mut self) -> Result<(), CommandError> {
        let nodes = self
            .nodes
            .iter_mut()
            .filter_map(|(n, node)| Some((format!("node {n}"), node.process.as_mut()?)));
        let fetchers = self
            .fetchers
            .iter_mut()
            .filter_map(|(n, fetcher)| Some((format!("fetcher {n}"), fetcher.as_mut()?)));
        for (name, process) in nodes.chain(fetchers) {
            if let Some(status) = process.ended()? {
                return Err(CommandError::Message(format!(
                    "{name} ended by itself ({status}); its log ends with:\n{}",
                    process.log_end()
                )));
            }
        }
        Ok(())
    }

    fn node_mut(&mut self, number: u32) -> Result<&mut Node, CommandError> {
        self.nodes
            .get_mut(&number)
            .ok_or_else(|| CommandError::Message(format!("there is no node {number}")))
    }

    fn node_process(&mut self, number: u32) -> Result<&mut Process, CommandError> {
        let node = self.node_mut(number)?;
        node.process
            .as_mut()
            .ok_or_else(|| CommandError::Message(format!("node {number} does not run")))
    }

    fn fetcher_mut(&mut self, number: u32) -> Result<&mut Option<Process>, CommandError> {
        self.fetchers
            .get_mut(&number)
            .ok_or_else(|| CommandError::Message(format!("there is no fetcher {number}")))
    }

    fn fetcher_process(&mut self, number: u32) -> Result<&mut Process, CommandError> {
        self.fetcher_mut(number)?
            .as_mut()
            .ok_or_else(|| CommandError::Message(format!("fetcher {number} does not run")))
    }
}

/// Removes what a directory holds. The directory may be a mount, so it stays.
fn empty(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "running_tests.rs"]
mod tests;
