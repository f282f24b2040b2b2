//! A panic ends the process.
//!
//! A task that panicked leaves a process that lives by half: a shard that takes nothing, a link that never opens again,
//! a log that is not flushed, while the others still count on it. An end at once costs nothing that was acknowledged, and
//! whoever started the process starts it again.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::time::Duration;

/// How long the last line may take: nobody may be reading what this process writes.
const LAST_LINE: Duration = Duration::from_secs(1);

/// From here on a panic of any thread or task writes one line and aborts. Not one that is caught and answered for: the
/// log's threads catch what a group's machine does, and stop that group.
pub(super) fn end_process() {
    std::panic::set_hook(Box::new(|panic| {
        let line = line(panic);
        if raftlog::panic_is_caught() {
            return say(&line);
        }
        // Fails where there are no more threads; then the line is waited for.
        let _unwatched = std::thread::Builder::new().spawn(|| {
            std::thread::sleep(LAST_LINE);
            std::process::abort();
        });
        say(&line);
        // Not exit: its handlers would run beside threads that are in the middle of something.
        std::process::abort();
    }));
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let reason = panic.payload_as_str().unwrap_or("no message");
    let reason = reason.replace(['\n', '\r'], " ");
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    format!("frontier-node: panic in thread {thread} at {place}: {reason}\n")
}

/// Writes as a whole; where that is refused there is nobody to tell.
fn say(line: &str) {
    let _nobody_listens = std::io::stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const VARIABLE: &str = "ESCAPEMENT_TEST_PANIC";
    const CHILD: &str = "process::panics::tests::child_that_panics";
    const ABORTED: Option<i32> = Some(6);

    /// Panics where it is told to, and then goes on. Does nothing unless it is run as the child.
    #[test]
    fn child_that_panics() {
        let Ok(place) = std::env::var(VARIABLE) else {
            return;
        };
        end_process();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        match place.as_str() {
            "task" => drop(runtime.spawn(async { panic!("two\nlines") })),
            "thread" => drop(std::thread::spawn(|| panic!("two\nlines"))),
            // As tracing does when it cannot write.
            _ => drop(runtime.spawn(async { eprintln!("to a full disk") })),
        }
        std::thread::sleep(Duration::from_secs(60));
    }

    fn child(place: &str, stderr: Stdio) -> std::process::Output {
        Command::new(std::env::current_exe().unwrap())
            .args([CHILD, "--exact", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, place)
            .stdout(Stdio::null())
            .stderr(stderr)
            .output()
            .unwrap()
    }

    #[test]
    fn a_panic_of_a_task_or_thread_ends_the_process_with_one_line() {
        for place in ["task", "thread"] {
            let output = child(place, Stdio::piped());
            assert_eq!(output.status.signal(), ABORTED, "{place}: {output:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            let lines: Vec<_> = said
                .lines()
                .filter(|l| l.contains("panic in thread"))
                .collect();
            assert!(
                lines.len() == 1
                    && lines[0].contains("two lines")
                    && lines[0].contains("panics.rs"),
                "{said}"
            );
        }
    }

    /// The disk that the log goes to is full: what panics then cannot say so, and ends the process all the same.
    #[test]
    fn a_panic_that_cannot_be_written_ends_the_process_too() {
        for place in ["eprintln", "task"] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let output = child(place, full.into());
            assert_eq!(output.status.signal(), ABORTED, "{place}: {output:?}");
        }
    }
}
