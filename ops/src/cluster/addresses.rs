//! Where the processes of a cluster listen: loopback addresses of this run alone, so that a port that a killed process left
//! is taken by nobody else before its restart.

use crate::output::CommandError;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// The addresses of the nodes, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Of gRPC.
    pub grpc: BTreeMap<u32, SocketAddr>,
    /// Of metrics and the status page.
    pub http: BTreeMap<u32, SocketAddr>,
}

impl Addresses {
    /// Free ports on addresses that follow from the pid of this process: 127.64.0.0 to 127.127.255.255.
    pub fn loopback(nodes: u32) -> Result<Self, CommandError> {
        let pid = std::process::id();
        let [_, _, third, fourth] = pid.to_be_bytes();
        let host = Ipv4Addr::new(127, 64 | (pid >> 16) as u8 & 63, third, fourth);
        // All are held until the last is found, so that they differ.
        let mut held = Vec::new();
        let mut free = || {
            let listener = TcpListener::bind((host, 0))
                .map_err(|e| CommandError::io(format!("cannot listen on {host}"), e))?;
            let address = listener
                .local_addr()
                .map_err(|e| CommandError::io("a listener has no address", e))?;
            held.push(listener);
            Ok(address)
        };
        let mut addresses = Self {
            grpc: BTreeMap::new(),
            http: BTreeMap::new(),
        };
        for node in 1..=nodes {
            addresses.grpc.insert(node, free()?);
            addresses.http.insert(node, free()?);
        }
        Ok(addresses)
    }

    /// Given hosts and fixed ports, for nodes with a network of their own.
    pub fn fixed(hosts: &BTreeMap<u32, Ipv4Addr>, grpc_port: u16, http_port: u16) -> Self {
        let with = |port| {
            hosts
                .iter()
                .map(|(node, host)| (*node, SocketAddr::from((*host, port))))
                .collect()
        };
        Self {
            grpc: with(grpc_port),
            http: with(http_port),
        }
    }

    /// Those of nodes 1 to `nodes`.
    pub fn founders(&self, nodes: u32) -> Self {
        let mut founders = self.clone();
        founders.grpc.retain(|node, _| *node <= nodes);
        founders.http.retain(|node, _| *node <= nodes);
        founders
    }

    /// The gRPC addresses as text.
    pub fn grpc_list(&self) -> Vec<String> {
        self.grpc.values().map(SocketAddr::to_string).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Addresses;
    use std::collections::BTreeSet;

    #[test]
    fn all_differ_and_all_are_loopback() {
        let addresses = Addresses::loopback(3).unwrap();
        let all: BTreeSet<_> = addresses
            .grpc
            .values()
            .chain(addresses.http.values())
            .collect();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|address| address.ip().is_loopback()));
        assert_eq!(addresses.grpc_list()[1], addresses.grpc[&2].to_string());
    }
}
