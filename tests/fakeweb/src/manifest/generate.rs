//! The manifest of a web, host by host, without serving anything.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::entry::{HostFacts, ManifestEntry, Outcome};
use crate::options::{FakeWebError, FakeWebOptions};
use crate::server::RETRY_AFTER_S;
use crate::web::{Found, Host, Resource, RobotsKind, Web};

/// Why a manifest could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// An option is out of range.
    #[error(transparent)]
    Options(#[from] FakeWebError),
    /// Reading or writing failed.
    #[error("manifest: {0}")]
    Io(#[from] io::Error),
    /// A line is no entry.
    #[error("manifest line {line}: {source}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A line is longer than [`crate::limits::MAX_LINE_BYTES`].
    #[error("manifest line {line} is too long")]
    LongLine {
        /// Number of the line, from 1.
        line: u64,
    },
}

/// Writes the manifest as JSON lines: hosts in order of their numbers, each host's root first.
///
/// Memory is that of one page, whatever the number of hosts. Returns the number of entries.
pub fn write_manifest(options: &FakeWebOptions, mut out: impl Write) -> Result<u64, ManifestError> {
    let mut count = 0;
    for entry in entries(options)? {
        serde_json::to_writer(&mut out, &entry).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

/// The entries of the manifest, generated as they are asked for.
pub fn entries(
    options: &FakeWebOptions,
) -> Result<impl Iterator<Item = ManifestEntry>, FakeWebError> {
    options.validate()?;
    let web = Web::new(options);
    Ok((0..options.hosts).flat_map(move |index| host_entries(&web, index)))
}

fn host_entries(web: &Web, index: u32) -> Vec<ManifestEntry> {
    let host = web.host(index);
    if host.robots.blocks_all() {
        let outcome = match host.robots {
            RobotsKind::Error(_) => Outcome::UnreachableRobots,
            _ => Outcome::Disallowed,
        };
        let mut root = blank(&host, "/", outcome);
        root.host_facts = Some(facts(web, &host));
        return vec![root];
    }
    let mut list = Vec::new();
    for unit in 0..host.units {
        let kind = web.unit_kind(&host, unit);
        for member in 0..web.members(kind) {
            list.push(entry(web, &host, &web.at(&host, unit, kind, member)));
        }
    }
    if let Some(root) = list.first_mut() {
        root.host_facts = Some(facts(web, &host));
    }
    list
}

fn facts(web: &Web, host: &Host) -> HostFacts {
    HostFacts {
        robots_urls: web.robots_urls(host),
        crawl_delay_ms: host.robots.crawl_delay_ms(),
        robots_unreachable: matches!(host.robots, RobotsKind::Error(_)),
        slow_ms: host.slow_ms,
    }
}

fn blank(host: &Host, path: &str, outcome: Outcome) -> ManifestEntry {
    ManifestEntry {
        url: format!("http://{}{path}", host.name),
        outcome,
        status: None,
        digest: None,
        host: host.name.clone(),
        links: None,
        target: None,
        retries: 0,
        retry_after_ms: 0,
        host_facts: None,
    }
}

fn entry(web: &Web, host: &Host, found: &Found) -> ManifestEntry {
    let (outcome, status) = match &found.resource {
        Resource::Body | Resource::BodyAfter(_) => (Outcome::Fetched, Some(200)),
        Resource::Oversize => (Outcome::Oversize, Some(200)),
        Resource::Cut => (Outcome::Truncated, Some(200)),
        Resource::Forbidden => (Outcome::Disallowed, None),
        Resource::Redirect { status, .. } => (Outcome::Redirect, Some(*status)),
        Resource::Status(404) => (Outcome::NotFound, Some(404)),
        Resource::Status(410) => (Outcome::Gone, Some(410)),
        Resource::Status(status) => (Outcome::ServerError, Some(*status)),
    };
    let mut entry = ManifestEntry {
        status,
        ..blank(host, &found.path, outcome)
    };
    if let Resource::Redirect { target, .. } = &found.resource {
        entry.target = Some(target.clone());
    }
    if let Resource::BodyAfter(times) = found.resource {
        entry.retries = times;
        entry.retry_after_ms = RETRY_AFTER_S * 1000;
    }
    if web.shape.manifest_digests && matches!(outcome, Outcome::Fetched | Outcome::Oversize) {
        let payload = web.payload(host, found);
        entry.digest = Some(hex::encode(Sha256::digest(&payload.bytes)));
        let has_links = payload.content_type.starts_with("text/html") && !payload.bytes.is_empty();
        entry.links = has_links.then_some(payload.links);
    }
    entry
}
