//! Logs go to stderr, filtered by `ESCAPEMENT_LOG`.

use std::io::{IsTerminal, Write};

use tracing_subscriber::EnvFilter;

/// The variable with the filter.
const VARIABLE: &str = "ESCAPEMENT_LOG";

/// Starts logging to stderr, with colours if it is a terminal. A filter in `ESCAPEMENT_LOG` that makes no sense is named, and
/// the default holds.
pub fn log_to_stderr(program: &str, default: &str) {
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => EnvFilter::try_new(&text).unwrap_or_else(|error| {
            say(&format!("{program}: {VARIABLE} is {text:?}: {error}"));
            EnvFilter::new(default)
        }),
        Err(_) => EnvFilter::new(default),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // Refused only where somebody logs already, as in tests.
    let _ = subscriber.try_init();
}

/// A line on stderr; nobody may be there to read it.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
