//! `escapement bench`: speed, memory and disk, each figure with a floor measured in the same run (docs/BENCHES.md).
//!
//! A machine's speed varies twofold from hour to hour, so a figure alone says little; its floor is the least that any
//! implementation must do, done as directly as possible right after it on the same disk and cores.
//!
//! | file | what |
//! |---|---|
//! | `n0` | the target rate on one machine (`lease_probe` is the latency of leases, `judged` what the web saw) |
//! | `n1`, `n2` | new URLs taken, known URLs dropped (`offering` is their load), one replica or several |
//! | `n3` | leases and reports (`pairs` is the load, `open_loop` the latency), one replica or several |
//! | `n5` | the seen set: bytes on disk, bits in memory |
//! | `n6` | memory of active hosts, and the cost of a lease as their number grows |
//! | `n7` | pages: fetched, stored, reported (`bare_loop` is the floor, `web` the fake web) |
//! | `n8` | from the start of a killed node to its first lease (`preload` is what it knows) |
//! | `n9` | the pause that fetchers see while a shard splits (`following` is the load, `gaps` the time between leases) |
//! | `n10` | an idle node (`idle_floor` is the floor) |
//! | `refill` | a lost follower is fed again (`background` writes meanwhile, `table_copy` is the floor) |
//! | `coordination` | what coordination costs each page, by the number of shards |
//! | `month` | a scaled-down month of heavy-tailed hosts in the machine alone, under virtual time |
//! | `target` | what a load goes to: `node` or `cluster` |
//! | `node` | a real node in this process, its gRPC server and clients |
//! | `cluster` | nodes and fetchers in processes of their own |
//! | `model` | the machine alone over rows in a map: what a node's log and rows will hold, and ready-made shards |
//! | `floor` | the same bytes straight to RocksDB |
//! | `urls`, `rng` | what is offered |
//! | `measure`, `outcome` | time, CPU, memory, percentiles; what is printed |

mod background;
mod bare_loop;
mod cluster;
mod coordination;
mod floor;
mod following;
mod gaps;
mod idle_floor;
mod judged;
mod lease_probe;
mod measure;
mod model;
mod month;
mod n0;
mod n1;
mod n10;
mod n2;
mod n3;
mod n5;
mod n6;
mod n7;
mod n8;
mod n9;
mod node;
mod offering;
mod open_loop;
mod outcome;
mod pairs;
mod preload;
mod prepared;
mod refill;
pub mod rng;
mod table_copy;
mod target;
mod urls;
mod web;

use crate::leftovers;
use crate::output::CommandError;
use outcome::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    bench: Bench,
    /// Print one JSON object as the last line.
    #[arg(long, global = true)]
    json: bool,
    /// Add the outcome to this file, one JSON object a line, for `escapement plan --measured`.
    #[arg(long, global = true)]
    record: Option<PathBuf>,
    /// Where the files of a run go, in a directory of their own that is removed again; the system's temporary directory
    /// by default. A disk of memory would make every sync free.
    #[arg(long, global = true)]
    dir: Option<PathBuf>,
}

/// Which figure.
#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// The target rate (a billion pages in 30 days) on one machine: nodes, fetchers, a fake web.
    #[command(alias = "N0")]
    N0(n0::Args),
    /// New URLs accepted a second over gRPC.
    #[command(alias = "N1")]
    N1(n1::Args),
    /// Known URLs dropped a second over gRPC.
    #[command(alias = "N2")]
    N2(n2::Args),
    /// Lease and report pairs a second, and the latency of a lease.
    #[command(alias = "N3")]
    N3(n3::Args),
    /// The seen set: bytes a URL on disk, bits a URL in memory, new URLs that reach the disk.
    #[command(alias = "N5")]
    N5(n5::Args),
    /// Memory of an active host, and how the cost of a lease grows.
    #[command(alias = "N6")]
    N6(n6::Args),
    /// Pages a second and core: fetched, durable, reported.
    #[command(alias = "N7")]
    N7(n7::Args),
    /// From the start of a killed node to its first lease.
    #[command(alias = "N8")]
    N8(n8::Args),
    /// The pause that fetchers see while a shard splits.
    #[command(alias = "N9")]
    N9(n9::Args),
    /// CPU of a node that has nothing to do.
    #[command(alias = "N10")]
    N10(n10::Args),
    /// A follower that lost its disk is fed again while writes go on.
    Refill(refill::Args),
    /// Calls, entries, syncs and bytes of each page, by the number of shards.
    Coordination(coordination::Args),
    /// A month of heavy-tailed hosts, scaled down, against the politeness ceiling.
    Month(month::Args),
}

/// Runs one bench and prints its outcome.
pub fn run(args: &Args) -> Result<ExitCode, CommandError> {
    let base = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    leftovers::sweep_directories(&base);
    let dir = tempfile::Builder::new()
        .prefix(&format!("{}-", leftovers::directory_name()))
        .tempdir_in(&base)
        .map_err(|e| {
            CommandError::io(format!("cannot make a directory in {}", base.display()), e)
        })?;
    let outcome = match &args.bench {
        Bench::N0(args) => on_runtime(n0::run(args, dir.path()))?,
        Bench::N1(args) => on_runtime(n1::run(args, dir.path()))?,
        Bench::N2(args) => on_runtime(n2::run(args, dir.path()))?,
        Bench::N3(args) => on_runtime(n3::run(args, dir.path()))?,
        Bench::N5(args) => on_runtime(n5::run(args, dir.path()))?,
        Bench::N6(args) => n6::run(args)?,
        Bench::N7(args) => on_runtime(n7::run(args, dir.path()))?,
        Bench::N8(args) => on_runtime(n8::run(args, dir.path()))?,
        Bench::N9(args) => on_runtime(n9::run(args, dir.path()))?,
        Bench::N10(args) => on_runtime(n10::run(args, dir.path()))?,
        Bench::Refill(args) => on_runtime(refill::run(args, dir.path()))?,
        Bench::Coordination(args) => on_runtime(coordination::run(args, dir.path()))?,
        Bench::Month(args) => month::run(args)?,
    };
    outcome.print(args.json)?;
    if let Some(file) = &args.record {
        outcome.record(file)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn on_runtime(
    bench: impl Future<Output = Result<Outcome, CommandError>>,
) -> Result<Outcome, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::io("cannot start", e))?;
    runtime.block_on(bench)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &[&str]) -> Args {
        Cli::try_parse_from([&["bench"], words].concat())
            .unwrap()
            .args
    }

    fn check(outcome: &Outcome, name: &str) {
        assert_eq!(outcome.bench, name);
        assert!(
            outcome.figure > 0.0 && outcome.floor > 0.0 && outcome.ratio > 0.0,
            "{outcome:?}"
        );
        assert!(
            outcome.cpu_seconds > 0.0 && outcome.peak_memory_bytes > 0,
            "{outcome:?}"
        );
    }

    #[test]
    fn the_flag_for_json_stands_on_either_side_of_the_name() {
        for name in [
            "n0",
            "n1",
            "n2",
            "n3",
            "n5",
            "n6",
            "n7",
            "n8",
            "n9",
            "n10",
            "refill",
            "coordination",
            "month",
            "N1",
            "N10",
        ] {
            assert!(parse(&[name, "--json"]).json && parse(&["--json", name]).json);
        }
        assert!(Cli::try_parse_from(["bench", "n4"]).is_err());
    }

    #[test]
    fn a_load_or_a_time_of_nothing_is_refused() {
        for line in [
            "n0 --minutes 0",
            "n0 --rate nan",
            "n1 --writers 0",
            "n2 --seconds 0",
            "n2 --known-percent 101",
            "n3 --open-loop-seconds 0",
            "n5 --threads 0",
            "n6 --hosts 10,0",
            "n7 --open 0",
            "n8 --rounds 0",
            "n9 --rate 0",
            "n9 --seconds 3",
            "n10 --seconds 0",
            "refill --urls 0",
            "coordination --shards 0",
            "month --scale 301",
        ] {
            let words = std::iter::once("bench").chain(line.split(' '));
            let refused = Cli::try_parse_from(words).unwrap_err().to_string();
            assert!(refused.contains("invalid value"), "{line}: {refused}");
        }
        // Where it means something it stays.
        parse(&["n0", "--hosts", "0", "--warm-up-seconds", "0"]);
        parse(&["refill", "--writers-meanwhile", "0"]);
    }

    #[test]
    fn offers_are_measured_against_their_floor() {
        let dir = tempfile::tempdir().unwrap();
        let Bench::N1(n1) = parse(&[
            "n1",
            "--seconds",
            "1",
            "--writers",
            "2",
            "--floor-urls",
            "2000",
        ])
        .bench
        else {
            unreachable!()
        };
        let outcome = on_runtime(n1::run(&n1, &dir.path().join("n1"))).unwrap();
        check(&outcome, "n1");
        assert_eq!(outcome.detail["run"]["known"], 0);
        let words = [
            "n2",
            "--seconds",
            "1",
            "--writers",
            "2",
            "--known-urls",
            "2000",
            "--floor-calls",
            "20",
        ];
        let Bench::N2(n2) = parse(&words).bench else {
            unreachable!()
        };
        let outcome = on_runtime(n2::run(&n2, &dir.path().join("n2"))).unwrap();
        check(&outcome, "n2");
        assert!(
            outcome.detail["run"]["new"].as_u64() > Some(0) && outcome.detail["run"]["other"] == 0
        );
    }

    #[test]
    fn pairs_are_measured_saturated_and_at_a_rate() {
        let dir = tempfile::tempdir().unwrap();
        let words = [
            "n3",
            "--seconds",
            "1",
            "--hosts",
            "20000",
            "--sessions",
            "4",
            "--batch",
            "4",
            "--rate",
            "100",
        ];
        let more = ["--open-loop-seconds", "1", "--floor-pairs", "500"];
        let Bench::N3(n3) = parse(&[&words[..], &more].concat()).bench else {
            unreachable!()
        };
        let outcome = on_runtime(n3::run(&n3, dir.path())).unwrap();
        check(&outcome, "n3");
        assert_eq!(outcome.detail["open_loop"]["pairs"], 100);
    }

    #[test]
    fn memory_and_disk_are_measured() {
        let dir = tempfile::tempdir().unwrap();
        let Bench::N5(n5) = parse(&[
            "n5", "--urls", "200000", "--sites", "2000", "--probes", "5000",
        ])
        .bench
        else {
            unreachable!()
        };
        let outcome = on_runtime(n5::run(&n5, dir.path())).unwrap();
        check(&outcome, "n5");
        assert_eq!(outcome.detail["new_urls_offered"], 5_000);
        let Bench::N6(n6) = parse(&["n6", "--hosts", "1000,50000", "--pairs", "400"]).bench else {
            unreachable!()
        };
        let outcome = n6::run(&n6).unwrap();
        check(&outcome, "n6");
        assert_eq!(outcome.detail["costs"][1]["hosts"], 50_000);
    }
}
