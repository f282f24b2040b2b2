//! `escapement fakeweb`: serves a deterministic fake web and logs each arrival.

use crate::output::{self, CommandError};
use ::fakeweb::{FakeWeb, FakeWebOptions, write_manifest};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `fakeweb`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Listen beyond loopback: anybody who reaches the address may ask.
    #[arg(long)]
    allow_non_loopback: bool,
    /// Number of hosts.
    #[arg(long, default_value_t = 200, value_parser = crate::numbers::positive::<u32>)]
    hosts: u32,
    /// Seed of everything that exists.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the arrival log, JSON lines `{"t_ns","host","path","status","conn"}`.
    #[arg(long)]
    log: Option<PathBuf>,
    /// File for the manifest: each reachable URL with its expected outcome.
    #[arg(long)]
    manifest: Option<PathBuf>,
    /// Mean URLs a host.
    #[arg(long)]
    mean_pages: Option<u32>,
    /// Most URLs of one host.
    #[arg(long)]
    max_pages_per_host: Option<u32>,
    /// Links a page.
    #[arg(long)]
    links_per_page: Option<u32>,
    /// Size of HTML bodies, bytes, about.
    #[arg(long)]
    body_size_bytes: Option<u32>,
    /// Wait before each first byte, ms.
    #[arg(long)]
    latency_ms: Option<u32>,
    /// Only plain pages: no errors, redirects, robots rules, slow hosts.
    #[arg(long)]
    plain: bool,
    /// Threads that serve.
    #[arg(long, default_value_t = 1, value_parser = crate::numbers::positive::<usize>)]
    threads: usize,
}

impl Args {
    /// The options of the library.
    pub fn options(&self) -> FakeWebOptions {
        let mut options = FakeWebOptions::new(self.hosts, self.seed);
        options.listen = self.listen;
        options.log.clone_from(&self.log);
        options.keep_arrivals = false;
        options.threads = self.threads;
        if self.plain {
            options.features = ::fakeweb::Features::none();
        }
        let shape = &mut options.shape;
        let set = |to: &mut u32, from: Option<u32>| {
            if let Some(value) = from {
                *to = value;
            }
        };
        set(&mut shape.mean_pages, self.mean_pages);
        set(&mut shape.max_pages_per_host, self.max_pages_per_host);
        set(&mut shape.links_per_page, self.links_per_page);
        if let Some(size) = self.body_size_bytes {
            (shape.body_min_bytes, shape.body_max_bytes) = (size, size);
        }
        if let Some(latency) = self.latency_ms {
            (shape.latency_min_ms, shape.latency_max_ms) = (latency, latency);
        }
        options
    }
}

/// Refuses an address beyond loopback unless it is allowed.
fn check_address(address: IpAddr, allow_non_loopback: bool) -> Result<(), CommandError> {
    if address.is_loopback() || allow_non_loopback {
        return Ok(());
    }
    Err(CommandError::Message(format!(
        "{address} is not a loopback address: --allow-non-loopback must be given for it"
    )))
}

/// Serves until SIGINT, SIGTERM or the end of time. Prints the seed URL first, then the address.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    check_address(args.listen.ip(), args.allow_non_loopback)?;
    let options = args.options();
    if let Some(path) = &args.manifest {
        let file = File::create(path)
            .map_err(|e| CommandError::io(format!("cannot create {}", path.display()), e))?;
        let mut out = BufWriter::new(file);
        write_manifest(&options, &mut out)
            .map_err(|e| CommandError::of("cannot write the manifest", e))?;
        out.flush()
            .map_err(|e| CommandError::io("cannot write the manifest", e))?;
    }
    let web = FakeWeb::start(options).map_err(|e| CommandError::of("cannot serve", e))?;
    output::line(&web.seed_url)?;
    output::line(format_args!("listening {}", web.addr))?;
    crate::signals::wait_for_stop()?;
    web.shutdown()
        .map_err(|e| CommandError::io("cannot write the arrival log", e))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_served_beyond_loopback_unless_it_is_allowed() {
        let any: IpAddr = "0.0.0.0".parse().unwrap();
        let why = check_address(any, false).unwrap_err().to_string();
        assert!(why.contains("--allow-non-loopback must be given"), "{why}");
        assert!(check_address(any, true).is_ok());
        assert!(check_address("127.9.9.9".parse().unwrap(), false).is_ok());
        assert!(check_address("::1".parse().unwrap(), false).is_ok());
    }
}
