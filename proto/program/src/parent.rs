//! A process that ends with the one that started it, however that ended: SIGKILL lets nobody clean up after himself.

use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::stderr::say;

/// The variable with the parent's process id.
const VARIABLE: &str = "ESCAPEMENT_END_WITH";

/// Tells a program that is about to be started to end with this process: see [`end_with_parent`].
///
/// The thread that starts it must live as long as this process does, for the kernel takes its end for the parent's.
pub fn ends_with_this(command: &mut Command) {
    command.env(VARIABLE, std::process::id().to_string());
}

/// If the process was started to end with its parent, has the kernel send it SIGKILL at the parent's end, stopped or not.
/// Comes first in a program, on its first thread.
pub fn end_with_parent(program: &str) {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return;
    };
    let parent = text.to_str().and_then(|text| text.parse().ok());
    let Some(parent) = parent.and_then(Pid::from_raw) else {
        say(format_args!(
            "{program}: {VARIABLE} is {text:?}: no process id"
        ));
        return;
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        say(format_args!(
            "{program}: cannot end with its parent: {error}"
        ));
    }
    // It may have ended before the kernel was told.
    if getppid() != Some(parent) {
        say(format_args!(
            "{program}: its parent, process {parent}, has ended"
        ));
        std::process::exit(1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::Duration;

    /// Says which part the test's own executable plays.
    const PART: &str = "ESCAPEMENT_TEST_PART";
    /// Nothing waits so long.
    const LONG: Duration = Duration::from_secs(600);

    fn play(part: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "parent::tests::the_parts";
        command
            .args(["--exact", name, "--nocapture", "--test-threads", "1"])
            .env(PART, part);
        command
    }

    /// A parent that starts a child, and the child, which says its process id.
    #[test]
    fn the_parts() {
        match std::env::var(PART).as_deref() {
            Ok("parent") => {
                let mut command = play("child");
                ends_with_this(&mut command);
                let _ = command.spawn().unwrap().wait();
            }
            Ok("child") => {
                end_with_parent("child");
                println!("\nchild {}", std::process::id());
                std::thread::sleep(LONG);
            }
            _ => {}
        }
    }

    #[test]
    fn a_child_ends_with_a_parent_that_was_killed() {
        let mut parent = play("parent").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let child = lines.find_map(|line| line.unwrap().strip_prefix("child ").map(str::to_owned));
        let proc = std::path::PathBuf::from(format!("/proc/{}", child.unwrap()));
        assert!(proc.exists());
        parent.kill().unwrap();
        parent.wait().unwrap();
        // The child holds the other end of the pipe: it closes when it is gone.
        assert_eq!(lines.by_ref().count(), 0);
    }

    #[test]
    fn a_child_that_comes_too_late_ends_at_once() {
        let mut late = play("child");
        // Not its parent.
        late.env(VARIABLE, "1");
        assert_eq!(late.output().unwrap().status.code(), Some(1));
    }
}
