//! The fake web that is crawled, in a process of its own, so that its CPU time is not ours.

use super::measure::cpu_seconds_of;
use crate::output::CommandError;
use fakeweb::{FakeWebOptions, Features};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Seed of the web.
const SEED: u32 = 7;

/// What the web is made of: plain pages of one size.
#[derive(Debug, Clone, Copy)]
pub struct WebShape {
    /// Hosts.
    pub hosts: u32,
    /// Mean pages of a host.
    pub pages_per_host: u32,
    /// Links of a page.
    pub links: u32,
    /// Size of a page.
    pub body_size_bytes: u32,
    /// Whether hosts have that many pages, but for the few with a single one; else many have few and some twice as many.
    pub even: bool,
}

impl WebShape {
    fn most_pages(self) -> u32 {
        self.pages_per_host
            .saturating_mul(if self.even { 1 } else { 2 })
    }

    /// The same web as the other process serves.
    fn options(self) -> FakeWebOptions {
        let mut options = FakeWebOptions::new(self.hosts, u64::from(SEED));
        options.features = Features::none();
        options.shape.mean_pages = self.pages_per_host;
        options.shape.max_pages_per_host = self.most_pages();
        options.shape.links_per_page = self.links;
        (options.shape.body_min_bytes, options.shape.body_max_bytes) =
            (self.body_size_bytes, self.body_size_bytes);
        options.shape.manifest_digests = false;
        options
    }

    /// All pages, those of one host together, its root first.
    pub fn pages(self) -> Result<Vec<String>, CommandError> {
        let options = self.options();
        let entries = fakeweb::entries(&options)
            .map_err(|e| CommandError::of("cannot list the fake web", e))?;
        Ok(entries
            .filter(|entry| entry.status == Some(200))
            .map(|entry| entry.url)
            .collect())
    }

    /// The first page of each host.
    pub fn roots(self) -> Result<Vec<String>, CommandError> {
        let mut hosts = BTreeSet::new();
        let mut roots = self.pages()?;
        roots.retain(|url| hosts.insert(url.split('/').nth(2).unwrap_or_default().to_owned()));
        Ok(roots)
    }
}

/// A web being served. Ends with this value.
pub struct Web {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Web {
    /// Starts this program again, as a web server; it writes each arrival to `log`, if one is given.
    pub fn start(shape: WebShape, log: Option<&Path>) -> Result<Self, CommandError> {
        let failed = |e| CommandError::io("cannot start the fake web", e);
        let numbers = [
            ("--hosts", shape.hosts),
            ("--seed", SEED),
            ("--mean-pages", shape.pages_per_host),
            ("--max-pages-per-host", shape.most_pages()),
            ("--links-per-page", shape.links),
            ("--body-size-bytes", shape.body_size_bytes),
        ];
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["fakeweb", "--plain", "--listen", "127.0.0.1:0"]);
        for (name, value) in numbers {
            command.arg(name).arg(value.to_string());
        }
        if let Some(log) = log {
            command.arg("--log").arg(log);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let out = child.stdout.take();
        let mut web = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let lines = out
            .map(BufReader::new)
            .into_iter()
            .flat_map(BufRead::lines)
            .map_while(Result::ok);
        let listening = lines
            .take(2)
            .find_map(|line| line.strip_prefix("listening ")?.trim().parse().ok());
        web.address = listening
            .ok_or_else(|| CommandError::Message("the fake web did not start".to_owned()))?;
        Ok(web)
    }

    /// CPU seconds it has used.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds_of(self.child.id())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_one_root() {
        let shape = WebShape {
            hosts: 20,
            pages_per_host: 10,
            links: 5,
            body_size_bytes: 1_000,
            even: false,
        };
        let (pages, roots) = (shape.pages().unwrap(), shape.roots().unwrap());
        assert_eq!(roots.len(), 20);
        assert!(
            pages.len() > 60 && roots.iter().all(|url| url.ends_with('/')),
            "{roots:?}"
        );
    }
}
