//! One child process: its ready line, its log, its signals. Known by its pid alone; ended when dropped, and by the kernel when
//! this process is killed.

use super::limits::{LOOK_EVERY, READY_WITHIN, SHOWN_LOG_BYTES, SHOWN_LOG_LINES, STOP_WITHIN};
use super::ready::Ready;
use crate::output::CommandError;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Instant;
use tokio::sync::oneshot;

/// A running process.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    ready: Option<oneshot::Receiver<Ready>>,
}

impl Process {
    /// Starts it; its stderr is appended to `log`. Only on a thread that lives as long as this process.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Self, CommandError> {
        let failed = |e| CommandError::io(format!("cannot start {name}"), e);
        let errors = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(failed)?;
        program::ends_with_this(&mut command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let ready = child.stdout.take().map(watch).transpose().map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
            ready,
        })
    }

    /// Its pid.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its ready line. A process that ends before, or takes too long, is an error with the end of its log.
    pub async fn wait_ready(&mut self) -> Result<Ready, CommandError> {
        let Some(ready) = self.ready.take() else {
            return Err(CommandError::Message(format!(
                "{} was ready before",
                self.name
            )));
        };
        let why = match tokio::time::timeout(READY_WITHIN, ready).await {
            Ok(Ok(ready)) => return Ok(ready),
            Ok(Err(_)) => "ended before it was ready".to_owned(),
            Err(_) => format!("was not ready in {} s", READY_WITHIN.as_secs()),
        };
        Err(CommandError::Message(format!(
            "{} {why}; its log ends with:\n{}",
            self.name,
            self.log_end()
        )))
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let Ok(text) = end_of(&self.log) else {
            return String::new();
        };
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LOG_LINES)..].join("\n")
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> Result<(), CommandError> {
        self.child
            .kill()
            .and_then(|()| self.child.wait())
            .map(drop)
            .map_err(|e| CommandError::io(format!("cannot kill {}", self.name), e))
    }

    /// SIGSTOP.
    pub fn pause(&self) -> Result<(), CommandError> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT.
    pub fn resume(&self) -> Result<(), CommandError> {
        self.signal(Signal::CONT)
    }

    /// SIGTERM, and waits for its end, which must be a clean one.
    pub async fn terminate(&mut self) -> Result<(), CommandError> {
        self.signal(Signal::TERM)?;
        let until = Instant::now() + STOP_WITHIN;
        let status = loop {
            if let Some(status) = self.ended()? {
                break status;
            }
            if Instant::now() > until {
                return Err(self.unclean(&format!("did not stop in {} s", STOP_WITHIN.as_secs())));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        if status.success() {
            return Ok(());
        }
        Err(self.unclean(&format!("ended with {status} after SIGTERM")))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, CommandError> {
        self.child
            .try_wait()
            .map_err(|e| CommandError::io(format!("cannot look after {}", self.name), e))
    }

    fn unclean(&self, what: &str) -> CommandError {
        CommandError::Message(format!(
            "{} {what}; its log ends with:\n{}",
            self.name,
            self.log_end()
        ))
    }

    fn signal(&self, signal: Signal) -> Result<(), CommandError> {
        kill_process(Pid::from_child(&self.child), signal)
            .map_err(|e| CommandError::io(format!("cannot signal {}", self.name), e.into()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself. SIGKILL ends a stopped process too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads stdout on a thread of its own: the ready line is handed over, the rest is thrown away so that no pipe fills.
fn watch(out: ChildStdout) -> std::io::Result<oneshot::Receiver<Ready>> {
    let (found, ready) = oneshot::channel();
    std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || {
            let mut out = BufReader::new(out);
            if let Some(line) = Ready::read(&mut out) {
                // Nobody may be waiting any more.
                let _ = found.send(line);
            }
            let _ = std::io::copy(&mut out, &mut std::io::sink());
        })?;
    Ok(ready)
}

fn end_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(SHOWN_LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(SHOWN_LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shell(script: &str, log: &Path) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("the shell", command, log).unwrap()
    }

    #[tokio::test]
    async fn ready_paused_resumed_and_stopped_cleanly() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'exit 0' TERM; echo ready node=3; while :; do sleep 0.01; done";
        let mut process = shell(script, &dir.path().join("log"));
        assert_eq!(process.wait_ready().await.unwrap().number("node"), Some(3));
        process.pause().unwrap();
        process.resume().unwrap();
        assert!(process.ended().unwrap().is_none());
        process.terminate().await.unwrap();
        assert!(process.ended().unwrap().unwrap().success());
    }

    #[tokio::test]
    async fn an_early_or_unclean_end_comes_with_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut process = shell("echo no such directory >&2; exit 3", &log);
        let error = process.wait_ready().await.unwrap_err().to_string();
        assert!(
            error.contains("ended before") && error.contains("no such directory"),
            "{error}"
        );
        let mut process = shell(
            "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done",
            &log,
        );
        process.wait_ready().await.unwrap();
        let error = process.terminate().await.unwrap_err().to_string();
        assert!(error.contains("exit status: 4"), "{error}");
    }

    #[tokio::test]
    async fn a_paused_process_can_be_killed() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = shell("echo ready; exec sleep 60", &dir.path().join("log"));
        process.wait_ready().await.unwrap();
        process.pause().unwrap();
        process.kill().unwrap();
        assert!(process.ended().unwrap().is_some());
    }
}
