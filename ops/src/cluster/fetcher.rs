//! The command line of a fetcher.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How a fetcher is started; the same at each restart.
#[derive(Clone, Debug)]
pub struct FetcherSpec {
    /// gRPC addresses of the nodes.
    pub frontier: Vec<String>,
    /// Where all hosts of the web are.
    pub web: SocketAddr,
    /// Stores that hold each page.
    pub copies: u32,
    /// Open fetches.
    pub open_fetches: u32,
    /// How long a lease lasts.
    pub lease_ttl: Duration,
    /// Longest time of one fetch.
    pub fetch_timeout: Duration,
}

impl FetcherSpec {
    /// What is run.
    pub fn command(&self, program: &Path) -> Command {
        let ms = |duration: Duration| duration.as_millis().to_string();
        let http = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut command = Command::new(program);
        command
            .args(["--frontier", &self.frontier.join(",")])
            .args(["--copies", &self.copies.to_string()])
            .args(["--open-fetches", &self.open_fetches.to_string()])
            .args(["--lease-ttl-ms", &ms(self.lease_ttl)])
            .args(["--fetch-timeout-ms", &ms(self.fetch_timeout)])
            .args(["--allow-net", "127.0.0.0/8"])
            .args(["--resolve", &format!("*={}", self.web)])
            .args(["--http-listen", &http.to_string()])
            .arg("--scope-free");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_given_in_ms_and_nodes_in_one_list() {
        let spec = FetcherSpec {
            frontier: vec!["127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned()],
            web: SocketAddr::from(([127, 0, 0, 1], 80)),
            copies: 2,
            open_fetches: 50,
            lease_ttl: Duration::from_secs(10),
            fetch_timeout: Duration::from_millis(4_000),
        };
        let command = spec.command(Path::new("fetcher"));
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        for pair in [
            ["--frontier", "127.0.0.1:1,127.0.0.1:2"],
            ["--lease-ttl-ms", "10000"],
            ["--fetch-timeout-ms", "4000"],
            ["--resolve", "*=127.0.0.1:80"],
        ] {
            assert!(
                words.windows(2).any(|two| two == pair),
                "{pair:?} {words:?}"
            );
        }
    }
}
