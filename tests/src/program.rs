//! The programs under test, as processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The command line.
pub fn escapement() -> PathBuf {
    built("escapement")
}

/// The node of a cluster.
pub fn frontier_node() -> PathBuf {
    built("frontier-node")
}

/// The fetcher of a cluster.
pub fn fetcher() -> PathBuf {
    built("fetcher")
}

/// A program that was built with these tests (`cargo build --workspace` comes first).
fn built(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join(name);
    assert!(
        program.exists(),
        "build the workspace first: {} is missing",
        program.display()
    );
    program
}

/// Runs it to its end.
pub fn run(args: &[&str]) -> Output {
    Command::new(escapement()).args(args).output().unwrap()
}

/// What it wrote to stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The JSON object on the last line of stdout.
pub fn last_json(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .unwrap_or_else(|e| panic!("{e}: {last:?}; stderr: {}", stderr(output)))
}

/// A crawl of a fake web with short waits, so that a test ends soon.
pub fn crawl_command(seed_url: &str, web: std::net::SocketAddr, out: &Path) -> Command {
    paced_crawl(seed_url, web, out, "100ms", "3s")
}

/// The same with a delay and a patience of its own.
pub fn paced_crawl(
    seed_url: &str,
    web: std::net::SocketAddr,
    out: &Path,
    delay: &str,
    patience: &str,
) -> Command {
    let mut command = Command::new(escapement());
    command
        .args([
            "crawl",
            seed_url,
            "--scope",
            "any",
            "--json",
            "--allow-net",
            "127.0.0.0/8",
        ])
        .args([
            "--resolve",
            &format!("*={web}"),
            "--delay",
            delay,
            "--lease-ttl",
            "6s",
            "--fetch-timeout",
            "3s",
        ])
        .args([
            "--back-off",
            "500ms",
            "--attempts",
            "2",
            "--patience",
            patience,
            "--out",
        ])
        .arg(out);
    command
}
