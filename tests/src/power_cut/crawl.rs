//! A crawl whose power is cut before one of its system calls, then resumed: nothing lost, nothing early, pages intact.

use super::{Journal, Library, Mercy, cut};
use crate::program::{crawl_command, escapement, last_json};
use fakeweb::{AllowedRepeats, CheckOptions, FakeWeb, FakeWebOptions, Manifest, Outcome, check};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one cut did.
#[derive(Debug)]
pub struct Trial {
    /// The call before which the process stopped, and its file below the crawl's directory; `None` when it ran to its end.
    pub stop: Option<(String, PathBuf)>,
    /// What broke; empty when every promise held.
    pub broken: Vec<String>,
}

/// Runs one crawl with a cut before call `stop_at`, resumes it, judges.
pub fn trial(
    base: &Path,
    library: &Library,
    seed: u64,
    stop_at: u64,
    mercy: Mercy,
    lie: &str,
) -> Trial {
    let (root, work) = (base.join("crawl"), base.join("work"));
    std::fs::create_dir_all(work.join("saved")).unwrap();
    std::fs::create_dir_all(&root).unwrap();
    let mut options = FakeWebOptions::new(5, seed);
    options.shape.max_pages_per_host = 8;
    options.features.slow_hosts = false;
    options.features.robots_errors = false;
    options.features.server_errors = false;
    options.features.truncated = false;
    options.features.flaky = false;
    options.features.crawl_delay = false;
    let manifest = Manifest::of(&options).unwrap();
    let web = FakeWeb::start(options).unwrap();
    let mut first = crawl_command(&web.seed_url, web.addr, &root);
    first
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("POWERCUT_LIE", lie);
    library
        .watch(&mut first, &root, &work, stop_at)
        .status()
        .unwrap();
    let journal = Journal::read(&work.join("journal")).unwrap();
    let stop = journal.stop().map(|(what, path)| {
        (
            what.to_owned(),
            path.strip_prefix(&root).unwrap_or(path).to_owned(),
        )
    });
    cut(&root, &work.join("saved"), &journal, mercy).unwrap();
    let in_flight = leased(&root);
    let resumed = crawl_command(&web.seed_url, web.addr, &root)
        .output()
        .unwrap();
    let mut broken = Vec::new();
    if resumed.status.success() {
        let summary = last_json(&resumed);
        if summary["conserved"] != true || summary["end"] != "finished" {
            broken.push(format!("the resumed crawl: {summary}"));
        }
    } else {
        broken.push(format!(
            "the resumed crawl failed: {}",
            crate::program::stderr(&resumed)
        ));
    }
    judge_web(&web, &manifest, in_flight, &mut broken);
    judge_store(&root, &manifest, &mut broken);
    Trial { stop, broken }
}

/// What the directory says is leased after the cut; nothing when there is no crawl yet.
fn leased(root: &Path) -> AllowedRepeats {
    let output = Command::new(escapement())
        .args(["inspect", "crawl", "--leased", "--out"])
        .arg(root)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let urls = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    urls.filter_map(|line| line["url"].as_str().map(str::to_owned))
        .map(|url| (url, 1))
        .collect()
}

fn judge_web(
    web: &fakeweb::RunningFakeWeb,
    manifest: &Manifest,
    in_flight: AllowedRepeats,
    broken: &mut Vec<String>,
) {
    let options = CheckOptions {
        min_delay_ms: 100,
        allowed_repeats: in_flight,
        attempts: BTreeMap::from([(Outcome::Truncated, 2), (Outcome::ServerError, 2)]),
        ..CheckOptions::default()
    };
    let report = check(web.arrivals(), manifest, &options);
    if !report.is_clean() {
        broken.push(report.to_string());
    }
}

/// Every page of the manifest is stored under its digest, and its bytes are whole (P2, P5).
fn judge_store(root: &Path, manifest: &Manifest, broken: &mut Vec<String>) {
    let store = match page_store::PageStore::open(page_store::StoreOptions::new(root.join("pages")))
    {
        Ok(store) => store,
        Err(error) => return broken.push(format!("the page store: {error}")),
    };
    for entry in manifest
        .entries
        .values()
        .filter(|entry| entry.outcome == Outcome::Fetched)
    {
        let Some(digest) = entry.digest.as_ref().and_then(|digest| digest.parse().ok()) else {
            continue;
        };
        match store.get(&digest) {
            Ok(Some(_)) => {}
            Ok(None) => broken.push(format!("{} is not stored", entry.url)),
            Err(error) => broken.push(format!("{}: {error}", entry.url)),
        }
    }
    let scrub = store.scrub();
    if !scrub.problems.is_empty() {
        broken.push(format!("scrub: {:?}", scrub.problems));
    }
}

/// Watched calls of a whole crawl.
pub fn calls_of_a_crawl(base: &Path, library: &Library, seed: u64) -> u64 {
    let whole = trial(base, library, seed, 0, Mercy::None, "");
    assert!(
        whole.broken.is_empty(),
        "without a cut: {:#?}",
        whole.broken
    );
    let count = std::fs::read_to_string(base.join("work/count")).unwrap();
    count.trim().parse().unwrap()
}
