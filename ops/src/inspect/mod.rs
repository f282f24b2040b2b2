//! `escapement inspect`: one line in, one JSON object out, for scripts and for curious people.

mod crawl;
mod robots;
mod url;

use crate::output::CommandError;
use clap::Subcommand;
use std::io::BufRead;
use std::process::ExitCode;

/// Longest input line read, bytes; a longer one is answered with an error of its own.
const LINE_SIZE_BYTES: u64 = 4 * 1_024 * 1_024;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

/// What to look at.
#[derive(Debug, Subcommand)]
enum What {
    /// Every URL of a crawl with its state and outcome.
    Crawl(crawl::Args),
    /// Canonical form, host, site, partition hash and fingerprint of URLs.
    Url(url::Args),
    /// Whether a robots.txt lets an agent fetch a URL, and by which rule.
    Robots(robots::Args),
}

/// Runs `inspect`.
pub fn run(args: Args) -> Result<ExitCode, CommandError> {
    match args.what {
        What::Crawl(args) => crawl::run(&args),
        What::Url(args) => url::run(&args),
        What::Robots(args) => robots::run(&args),
    }
}

/// Calls `each` with every line of stdin, without its line end. Invalid UTF-8 is replaced.
fn for_each_line(
    mut each: impl FnMut(Result<&str, &str>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut input = std::io::stdin().lock();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let read = std::io::Read::take(&mut input, LINE_SIZE_BYTES)
            .read_until(b'\n', &mut buffer)
            .map_err(|e| CommandError::io("cannot read stdin", e))?;
        if read == 0 {
            return Ok(());
        }
        if buffer.last() != Some(&b'\n') && buffer.len() as u64 == LINE_SIZE_BYTES {
            skip_line(&mut input)?;
            each(Err("line too long"))?;
            continue;
        }
        while matches!(buffer.last(), Some(b'\n' | b'\r')) {
            buffer.pop();
        }
        each(Ok(&String::from_utf8_lossy(&buffer)))?;
    }
}

/// Reads on to the end of the line without keeping it.
fn skip_line(input: &mut impl BufRead) -> Result<(), CommandError> {
    loop {
        let available = input
            .fill_buf()
            .map_err(|e| CommandError::io("cannot read stdin", e))?;
        let (used, done) = match available.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (available.len(), available.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}
