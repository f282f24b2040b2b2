//! One child process: its ready line, its log, its end. Known by its pid alone; ended when dropped.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A start or an end that takes longer is a failure: nothing is proved by waiting on.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that was started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    out: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Starts it; stdout goes to `NAME.out`, stderr is appended to `NAME.log` in `dir`.
    pub fn start(mut command: Command, dir: &Path, name: &str) -> Self {
        let (out, log) = (
            dir.join(format!("{name}.out")),
            dir.join(format!("{name}.log")),
        );
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = command
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(errors)
            .spawn()
            .unwrap();
        Self { child, out, log }
    }

    /// Waits until it says that it is ready; why not, if it ends before.
    pub async fn wait_ready(&mut self) -> Result<String, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = std::fs::read_to_string(&self.out).unwrap_or_default();
            let ready = said.lines().find(|line| line.starts_with("ready "));
            if let (Some(line), true) = (ready, said.ends_with('\n')) {
                return Ok(line.to_owned());
            }
            if let Some(status) = self.ended() {
                return Err(format!("{status} before it was ready: {}", self.log_end()));
            }
            if Instant::now() > until {
                return Err(format!("not ready in time: {}", self.log_end()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    pub async fn wait_end(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(Instant::now() < until, "no end: {}", self.log_end());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for its end.
    pub async fn terminate(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.wait_end().await
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
