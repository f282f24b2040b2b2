//! The crawl as a process of its own, so that it can be killed.

use crate::drill::limits::PATIENCE;
use crate::output::CommandError;
use ::fakeweb::RunningFakeWeb;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a crawl is started.
pub struct Crawl {
    /// Its directory.
    pub out: PathBuf,
    /// Where it starts.
    pub seed_url: String,
    /// Where all hosts are.
    pub web: SocketAddr,
    /// Least time between two contacts.
    pub delay: Duration,
    /// How long a lease lasts.
    pub lease_ttl: Duration,
    /// Attempts of a URL.
    pub attempts: u32,
}

impl Crawl {
    /// Runs until `after`, then kills. `None` when the crawl ended by itself before; else the requests the web saw.
    pub fn run_and_kill(
        &self,
        after: Duration,
        web: &RunningFakeWeb,
    ) -> Result<Option<u64>, CommandError> {
        let mut child = self
            .command()?
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(started)?;
        let until = Instant::now() + after;
        while Instant::now() < until {
            if child.try_wait().map_err(started)?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().map_err(started)?;
        child.wait().map_err(started)?;
        Ok(Some(web.requests()))
    }

    /// Runs to the end and gives its summary object.
    pub fn run_to_end(&self) -> Result<Value, CommandError> {
        let done = self
            .command()?
            .stderr(Stdio::inherit())
            .output()
            .map_err(started)?;
        if !done.status.success() {
            return Err(CommandError::Message(format!(
                "the crawl failed: {}",
                done.status
            )));
        }
        let text = String::from_utf8_lossy(&done.stdout);
        let last = text.lines().last().unwrap_or_default();
        serde_json::from_str(last)
            .map_err(|e| CommandError::of("the crawl's summary is not JSON", e))
    }

    fn command(&self) -> Result<Command, CommandError> {
        let this =
            std::env::current_exe().map_err(|e| CommandError::io("cannot find this program", e))?;
        let mut command = Command::new(this);
        program::ends_with_this(&mut command);
        let ms = |duration: Duration| format!("{}ms", duration.as_millis());
        command
            .args([
                "crawl",
                &self.seed_url,
                "--scope",
                "any",
                "--json",
                "--allow-net",
                "127.0.0.0/8",
            ])
            .args([
                "--resolve",
                &format!("*={}", self.web),
                "--delay",
                &ms(self.delay),
            ])
            .args([
                "--lease-ttl",
                &ms(self.lease_ttl),
                "--fetch-timeout",
                "4s",
                // Doubled at each failure: the last wait of all attempts is within the patience.
                "--back-off",
                "250ms",
            ])
            .args(["--attempts", &self.attempts.to_string()])
            .args(["--patience", &ms(PATIENCE)])
            .arg("--out")
            .arg(&self.out);
        Ok(command)
    }
}

fn started(error: std::io::Error) -> CommandError {
    CommandError::io("cannot run the crawl", error)
}
