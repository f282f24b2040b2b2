//! Three nodes and a fetcher at work while the power of one node, or of all, is cut; then they start again: everybody has
//! its leaders, everything acknowledged is known, nothing is early, pages are whole.

use super::{Journal, Library, Mercy, cut};
use crate::cluster::{
    Nodes, Offering, Process, Talk, fetcher_command, judge_pages, judge_urls, judge_web, web,
};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Nodes of the cluster.
const NODES: usize = 3;
/// The chosen call comes within this time, or the trial has failed: somebody offers URLs all the while.
const CUT_WITHIN: Duration = Duration::from_secs(60);
/// How often the cut is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long the others go on alone.
const ALONE: Duration = Duration::from_millis(500);

/// Whose power is cut when node `number` is about to make its chosen call.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// That node's alone.
    One(usize),
    /// Everybody's.
    All(usize),
}

impl Scope {
    fn number(self) -> usize {
        match self {
            Self::One(number) | Self::All(number) => number,
        }
    }

    fn holds(self, number: usize) -> bool {
        matches!(self, Self::All(_)) || self.number() == number
    }
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whose power.
    pub scope: Scope,
    /// Before which watched call of that node; 0 = never.
    pub stop_at: u64,
    /// What survives unsynced.
    pub mercy: Mercy,
    /// Syncs of paths that contain this are left out, on all nodes that are cut.
    pub lie: &'static str,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Trial {
    /// The call before which the node stopped, and its file below the node's directory.
    pub stop: Option<(String, PathBuf)>,
    /// URLs that were acknowledged before the cut.
    pub acknowledged: usize,
    /// What broke before the crawl went on: who does not start, what is not known any more.
    pub lost: Vec<String>,
    /// What broke afterwards.
    pub broken: Vec<String>,
    /// Watched calls of each node that ran to its end.
    pub calls: Vec<u64>,
}

/// Runs one.
pub fn trial(base: &Path, library: &Library, plan: &Plan) -> Trial {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(base, library, plan))
}

async fn run(base: &Path, library: &Library, plan: &Plan) -> Trial {
    std::fs::create_dir_all(base).unwrap();
    let (web, manifest) = web(5, 8, 1);
    let mut nodes = Nodes::new(base, NODES);
    for number in nodes.numbers() {
        let command = watched(&nodes, base, library, plan, number);
        nodes.start_by(number, command);
    }
    let fetcher = fetcher_command(&nodes.addresses(), web.addr);
    let mut fetcher = Process::start(fetcher, base, "fetcher");
    let offering = Offering::start(nodes.addresses(), web.seed_url.clone());
    let mut trial = Trial::default();
    if plan.stop_at > 0 {
        wait_cut(&mut nodes, plan).await;
        let acknowledged = offering.acknowledged();
        trial.acknowledged = acknowledged.len();
        trial.stop = cut_back(&nodes, base, plan);
        tokio::time::sleep(ALONE).await;
        if let Err(why) = restart(&mut nodes, &acknowledged, &mut trial.lost).await {
            trial.lost.push(why);
        }
    }
    if !trial.lost.is_empty() {
        return trial;
    }
    let talk = Talk::connect(&nodes.addresses()).await;
    match talk.wait_finished().await {
        Ok(urls) => {
            let broken = &mut trial.broken;
            judge_urls(&talk, &offering.acknowledged(), broken).await;
            judge_web(&talk, web.arrivals(), &manifest, &urls, broken).await;
            judge_pages(&talk, &urls, broken).await;
        }
        Err(why) => trial.broken.push(why),
    }
    if offering.failed() {
        trial.broken.push("the seed was not taken".to_owned());
    }
    drop(offering);
    trial.broken.extend(fetcher.wait_ready().await.err());
    let mut ends = vec![fetcher.terminate().await];
    ends.extend(nodes.terminate_all().await);
    if !ends.iter().all(ExitStatus::success) {
        trial.broken.push(format!("ends after SIGTERM: {ends:?}"));
    }
    trial.calls = nodes.numbers().filter_map(|n| calls(base, n)).collect();
    trial
}

/// The library's own files of a node.
fn work(base: &Path, number: usize) -> PathBuf {
    base.join(format!("work-{number}"))
}

/// Watched calls of a node that ran to its end.
fn calls(base: &Path, number: usize) -> Option<u64> {
    let count = std::fs::read_to_string(work(base, number).join("count")).ok()?;
    count.trim().parse().ok()
}

/// A node's command under the library, if its power is to be cut.
fn watched(nodes: &Nodes, base: &Path, library: &Library, plan: &Plan, number: usize) -> Command {
    let mut command = nodes.command(number);
    let is_counted = plan.stop_at == 0;
    if is_counted || plan.scope.holds(number) {
        let work = work(base, number);
        std::fs::create_dir_all(work.join("saved")).unwrap();
        let stop_at = if number == plan.scope.number() {
            plan.stop_at
        } else {
            0
        };
        command.env("POWERCUT_LIE", plan.lie);
        library.watch(&mut command, &nodes.dir(number), &work, stop_at);
    }
    command
}

/// Waits until the chosen node stops itself, and stops those that are cut off with it.
async fn wait_cut(nodes: &mut Nodes, plan: &Plan) {
    let number = plan.scope.number();
    let until = Instant::now() + CUT_WITHIN;
    while nodes.process(number).ended().is_none() {
        let is_late = Instant::now() > until;
        assert!(
            !is_late,
            "call {} of node {number} never came",
            plan.stop_at
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
    for number in nodes.numbers().filter(|n| plan.scope.holds(*n)) {
        nodes.kill(number);
    }
}

/// Takes from each directory what was not synced; the call before which the chosen node stopped.
fn cut_back(nodes: &Nodes, base: &Path, plan: &Plan) -> Option<(String, PathBuf)> {
    let mut stop = None;
    for number in nodes.numbers().filter(|n| plan.scope.holds(*n)) {
        let (root, work) = (nodes.dir(number), work(base, number));
        let journal = Journal::read(&work.join("journal")).unwrap();
        if let Some((what, path)) = journal.stop() {
            let file = path.strip_prefix(&root).unwrap_or(path);
            stop = Some((what.to_owned(), file.to_owned()));
        }
        cut(&root, &work.join("saved"), &journal, plan.mercy).unwrap();
    }
    stop
}

/// All start, every shard gets a leader, every shard adds up, everything acknowledged is known.
async fn restart(
    nodes: &mut Nodes,
    acknowledged: &[String],
    lost: &mut Vec<String>,
) -> Result<(), String> {
    nodes.start_ready().await?;
    let talk = Talk::connect(&nodes.addresses()).await;
    talk.wait_leaders().await?;
    judge_urls(&talk, acknowledged, lost).await;
    Ok(())
}
