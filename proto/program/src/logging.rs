//! Logs go to stderr, filtered by `ESCAPEMENT_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::stderr::{Stderr, say};

/// The variable with the filter.
const VARIABLE: &str = "ESCAPEMENT_LOG";

/// Starts logging to stderr, with colours if it is a terminal. A filter in `ESCAPEMENT_LOG` that makes no sense is named, and
/// the default holds. A line that cannot be written is lost, and that is all.
pub fn log_to_stderr(program: &str, default: &str) {
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => EnvFilter::try_new(&text).unwrap_or_else(|error| {
            say(format_args!("{program}: {VARIABLE} is {text:?}: {error}"));
            EnvFilter::new(default)
        }),
        Err(_) => EnvFilter::new(default),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(Stderr)
        .log_internal_errors(false);
    // Refused only where somebody logs already, as in tests.
    let _ = subscriber.try_init();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::process::{Command, Stdio};

    /// Set where the test's own executable plays the program.
    const PLAYED: &str = "ESCAPEMENT_TEST_PROGRAM";
    /// What the program exits with when it came to its end.
    const CAME_TO_ITS_END: i32 = 7;

    /// The program: logs, says something, and ends by itself.
    #[test]
    fn a_program_that_logs() {
        if std::env::var_os(PLAYED).is_none() {
            return;
        }
        log_to_stderr("played", "info");
        for line in 0..200 {
            tracing::warn!(line, "nobody reads this");
            say("nor this");
        }
        std::thread::spawn(|| tracing::error!("of another thread"))
            .join()
            .unwrap();
        std::process::exit(CAME_TO_ITS_END);
    }

    fn ends_with(stderr: Stdio) -> Option<i32> {
        let name = "logging::tests::a_program_that_logs";
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads", "1"])
            .env(PLAYED, "1")
            .stdout(Stdio::null())
            .stderr(stderr)
            .status()
            .unwrap()
            .code()
    }

    #[test]
    fn a_full_or_closed_stderr_ends_nothing() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(ends_with(full.into()), Some(CAME_TO_ITS_END));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(ends_with(writer.into()), Some(CAME_TO_ITS_END));
    }
}
