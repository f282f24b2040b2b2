//! Logs go to stderr, filtered by `ESCAPEMENT_LOG`.

use std::io::{IsTerminal, Write};

use tracing_subscriber::EnvFilter;

/// The variable with the filter.
const VARIABLE: &str = "ESCAPEMENT_LOG";
/// Without it.
const DEFAULT: &str = "info,openraft=error";

/// Starts logging, with colours on a terminal. A filter that makes no sense is named, and the default holds.
pub(super) fn start() {
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => EnvFilter::try_new(&text).unwrap_or_else(|error| {
            say(&format!("frontier-node: {VARIABLE} is {text:?}: {error}"));
            EnvFilter::new(DEFAULT)
        }),
        Err(_) => EnvFilter::new(DEFAULT),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}

/// A line on stderr; nobody may be there to read it.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
