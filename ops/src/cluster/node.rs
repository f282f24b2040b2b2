//! The command line of a node.

use super::Addresses;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How one node is started; the same at each restart.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its number.
    pub number: u32,
    /// Its directory.
    pub dir: PathBuf,
    /// Where it listens for gRPC.
    pub grpc: SocketAddr,
    /// Where it shows metrics.
    pub http: SocketAddr,
    /// All founding nodes; none: it joins.
    pub peers: Vec<(u32, SocketAddr)>,
    /// Members that are asked to take it in; none: it founds.
    pub join: Vec<SocketAddr>,
    /// Shards of the cluster.
    pub shards: u32,
    /// Further flags.
    pub extra: Vec<String>,
    /// What runs the program, such as `ip netns exec NAME`; empty: nothing.
    pub within: Vec<String>,
}

impl NodeSpec {
    /// Node `number` of a cluster.
    pub fn new(number: u32, addresses: &Addresses, dir: &Path, shards: u32) -> Option<Self> {
        Some(Self {
            number,
            dir: dir.join(format!("node-{number}")),
            grpc: *addresses.grpc.get(&number)?,
            http: *addresses.http.get(&number)?,
            peers: addresses
                .grpc
                .iter()
                .map(|(number, address)| (*number, *address))
                .collect(),
            join: Vec::new(),
            shards,
            extra: Vec::new(),
            within: Vec::new(),
        })
    }

    /// Node `number`, which joins a cluster of these founders.
    pub fn joining(
        number: u32,
        addresses: &Addresses,
        founders: &Addresses,
        dir: &Path,
    ) -> Option<Self> {
        Some(Self {
            peers: Vec::new(),
            join: founders.grpc.values().copied().collect(),
            ..Self::new(number, addresses, dir, 0)?
        })
    }

    /// What is run.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = match self.within.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command
            .args(["--node", &self.number.to_string()])
            .arg("--dir")
            .arg(&self.dir)
            .args(["--listen", &self.grpc.to_string()])
            .args(["--http-listen", &self.http.to_string()]);
        if self.join.is_empty() {
            command.args(["--shards", &self.shards.to_string()]);
        } else {
            let members: Vec<String> = self.join.iter().map(SocketAddr::to_string).collect();
            command.args(["--join", &members.join(",")]);
        }
        for (number, address) in &self.peers {
            command.args(["--peer", &format!("{number}={address}")]);
        }
        command.args(&self.extra);
        command
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_named_and_a_wrapper_comes_first() {
        let addresses = Addresses::loopback(3).unwrap();
        let mut spec = NodeSpec::new(2, &addresses, Path::new("/x"), 4).unwrap();
        spec.within = ["ip", "netns", "exec", "a"].map(str::to_owned).to_vec();
        let command = spec.command(Path::new("/bin/frontier-node"));
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        assert_eq!(command.get_program(), "ip");
        assert_eq!(words[..4], ["netns", "exec", "a", "/bin/frontier-node"]);
        assert_eq!(words.iter().filter(|word| *word == "--peer").count(), 3);
        assert!(words.contains(&format!("2={}", addresses.grpc[&2]).into()));
        assert!(words.contains(&"/x/node-2".into()));
        let all = Addresses::loopback(4).unwrap();
        let founders = all.founders(3);
        let spec = NodeSpec::joining(4, &all, &founders, Path::new("/x")).unwrap();
        let command = spec.command(Path::new("/bin/frontier-node"));
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        assert!(words.contains(&"--join".into()) && !words.contains(&"--peer".into()));
        assert!(words.contains(&founders.grpc_list().join(",").into()));
        assert!(NodeSpec::new(4, &addresses, Path::new("/x"), 4).is_none());
    }
}
