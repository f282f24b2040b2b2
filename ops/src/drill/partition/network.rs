//! A network of this machine for one drill: a bridge, and a namespace with one cable to it for every node. This process and
//! the fetchers are on the bridge itself.

use crate::leftovers::{is_gone, owner};
use crate::output::{self, CommandError};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A hardware address that nobody has: what is sent there is lost without a word to the sender.
const NOBODY: &str = "02:00:00:00:00:01";
/// Begins every name; the process id follows, then what it is.
const PREFIX: &str = "esc";
/// Where the names of namespaces are, and those of network devices.
const NAMES: [&str; 2] = ["/run/netns", "/sys/class/net"];
/// Nodes of the largest network.
const MOST_NODES: u32 = 16;

/// The network. What was made goes away with it.
#[derive(Debug)]
pub struct Network {
    /// Begins every name: of this process, so that two drills do not meet.
    prefix: String,
    /// First three bytes of every address: of 198.18.0.0/15, which RFC 2544 sets aside for tests of networks.
    subnet: [u8; 3],
    nodes: u32,
}

impl Network {
    /// Makes it; refused when this user or machine cannot.
    pub fn make(nodes: u32) -> Result<Self, CommandError> {
        if !rustix::process::geteuid().is_root() {
            return Err(CommandError::Refused(
                "network namespaces need root".to_owned(),
            ));
        }
        sweep();
        let network = Self::of(std::process::id(), nodes);
        // What was made before a failure goes away as well: the value is dropped.
        network.build().map_err(|error| {
            CommandError::Refused(format!("network namespaces cannot be made here: {error}"))
        })?;
        Ok(network)
    }

    fn of(pid: u32, nodes: u32) -> Self {
        Self {
            prefix: format!("{PREFIX}{pid}"),
            subnet: [198, 18 + (pid >> 8 & 1) as u8, pid as u8],
            nodes,
        }
    }

    fn build(&self) -> Result<(), CommandError> {
        let bridge = self.bridge();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        let own = format!("{}/24", self.host(254));
        ip(&["addr", "add", &own, "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for node in 1..=self.nodes {
            let (space, inner, outer) = (self.space(node), self.inner(node), self.outer(node));
            ip(&["netns", "add", &space])?;
            ip(&[
                "link", "add", &outer, "type", "veth", "peer", "name", &inner,
            ])?;
            ip(&["link", "set", &inner, "netns", &space])?;
            ip(&["link", "set", &outer, "master", &bridge, "up"])?;
            let address = format!("{}/24", self.host(node as u8));
            ip(&["-n", &space, "addr", "add", &address, "dev", &inner])?;
            ip(&["-n", &space, "link", "set", &inner, "up"])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// The address of every node.
    pub fn hosts(&self) -> BTreeMap<u32, Ipv4Addr> {
        (1..=self.nodes)
            .map(|node| (node, self.host(node as u8)))
            .collect()
    }

    /// What runs a program in a node's namespace.
    pub fn within(&self, node: u32) -> Vec<String> {
        let space = self.space(node);
        ["ip", "netns", "exec", &space].map(str::to_owned).to_vec()
    }

    /// From now on `to` receives nothing that `from` sends; `from` is not told.
    pub fn cut(&self, from: u32, to: u32) -> Result<(), CommandError> {
        let (space, inner) = (self.space(from), self.inner(from));
        let to = self.host(to as u8).to_string();
        ip(&[
            "-n",
            &space,
            "neigh",
            "replace",
            &to,
            "lladdr",
            NOBODY,
            "dev",
            &inner,
            "nud",
            "permanent",
        ])
    }

    /// From now on a node reaches nobody, and nobody reaches it.
    pub fn pull_cable(&self, node: u32) -> Result<(), CommandError> {
        ip(&["link", "set", &self.outer(node), "down"])
    }

    /// Undoes every cut.
    pub fn heal(&self) -> Result<(), CommandError> {
        for node in 1..=self.nodes {
            let (space, inner) = (self.space(node), self.inner(node));
            ip(&[
                "-n",
                &space,
                "neigh",
                "flush",
                "dev",
                &inner,
                "nud",
                "permanent",
            ])?;
            ip(&["link", "set", &self.outer(node), "up"])?;
        }
        Ok(())
    }

    fn host(&self, last: u8) -> Ipv4Addr {
        let [first, second, third] = self.subnet;
        Ipv4Addr::new(first, second, third, last)
    }

    fn bridge(&self) -> String {
        format!("{}b", self.prefix)
    }

    fn space(&self, node: u32) -> String {
        format!("{}n{node}", self.prefix)
    }

    fn inner(&self, node: u32) -> String {
        format!("{}i{node}", self.prefix)
    }

    fn outer(&self, node: u32) -> String {
        format!("{}o{node}", self.prefix)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // What was never made cannot be removed. A namespace takes its cable with it.
        for node in 1..=self.nodes {
            let _ = ip(&["link", "del", &self.outer(node)]);
            let _ = ip(&["netns", "del", &self.space(node)]);
        }
        let _ = ip(&["link", "del", &self.bridge()]);
    }
}

/// Removes the networks of processes that have ended.
fn sweep() {
    let named = NAMES.iter().flat_map(|folder| names(Path::new(folder)));
    let pids = named.filter_map(|name| Some(owner(&name, PREFIX)?.0));
    for pid in pids.filter(|pid| is_gone(*pid)).collect::<BTreeSet<u32>>() {
        drop(Network::of(pid, MOST_NODES));
        output::note(format_args!(
            "escapement: removed the network of process {pid}, which a killed run left"
        ));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string());
    names.flatten().collect()
}

fn ip(args: &[&str]) -> Result<(), CommandError> {
    let done = Command::new("ip")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| CommandError::io("cannot run ip (package iproute2)", e))?;
    if done.status.success() {
        return Ok(());
    }
    Err(CommandError::Message(format!(
        "ip {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&done.stderr).trim()
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernels_fifteen_bytes() {
        let network = std::mem::ManuallyDrop::new(Network::of(1 << 22, 3));
        for name in [
            network.bridge(),
            network.space(3),
            network.inner(3),
            network.outer(3),
        ] {
            assert!(name.len() <= 15, "{name}");
        }
        assert_eq!(network.host(3), Ipv4Addr::new(198, 18, 0, 3));
    }

    #[test]
    fn the_network_of_a_killed_run_is_removed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = Network::of(gone.id(), 2);
        // Where namespaces cannot be made, nothing can be left.
        if left.build().is_err() {
            return;
        }
        let (bridge, space) = (left.bridge(), left.space(2));
        std::mem::forget(left);
        let there = || NAMES.iter().flat_map(|folder| names(Path::new(folder)));
        assert!(there().any(|name| name == bridge) && there().any(|name| name == space));
        sweep();
        assert!(!there().any(|name| name == bridge || name == space));
    }
}
