//! N6: memory of an active host, and how the cost of a lease grows with their number.

use super::measure::{Meter, cpu_time, resident_bytes};
use super::model::{MapRows, Read};
use super::outcome::{About, Outcome, ratio, rounded};
use super::prepared::{self, Prepared};
use super::urls::Hosts;
use crate::output::CommandError;
use machine::{Machine, Rows};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Duration;

const ABOUT: About = About {
    bench: "n6",
    what: "memory of an active host in a machine built from rows",
    unit: "bytes/host",
    floor_is: "the host's name, its site's hash and eight 8-byte numbers: what any list of hosts with clocks holds",
    reach: "<= 400 B; lease cost grows no faster than log n",
};

/// Arguments of `n6`.
#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    /// Numbers of hosts at which a lease's cost is taken; memory is that of the largest.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000], value_parser = crate::numbers::positive::<u32>)]
    pub hosts: Vec<u32>,
    /// Hosts of a site.
    #[arg(long, default_value_t = 2, value_parser = crate::numbers::positive::<u32>)]
    pub hosts_per_site: u32,
    /// URLs queued on each host.
    #[arg(long, default_value_t = 1, value_parser = crate::numbers::positive::<u32>)]
    pub urls_per_host: u32,
    /// Pairs of which the cost is taken, at most half of the hosts.
    #[arg(long, default_value_t = 50_000, value_parser = crate::numbers::positive::<u32>)]
    pub pairs: u32,
    /// Leases of a call.
    #[arg(long, default_value_t = 32, value_parser = crate::numbers::positive::<u32>)]
    pub batch: u32,
}

/// Runs N6.
pub fn run(args: &Args) -> Result<Outcome, CommandError> {
    let mut sizes = args.hosts.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let meter = Meter::start();
    // The largest first, while this process has no freed memory that would hide what it takes.
    let mut points = Vec::new();
    let mut memory = (0.0, 0.0);
    while let Some(count) = sizes.pop().filter(|count| *count > 0) {
        let hosts = Hosts::new(count, count / args.hosts_per_site.max(1), 1);
        let (Some(range), Some(owned)) = (hosts.ranges.first(), hosts.by_shard.first()) else {
            continue;
        };
        let mut shard = Prepared::new(*range, owned, args.urls_per_host)?;
        if points.is_empty() {
            let names: usize = owned.iter().map(|host| host.name.len()).sum();
            memory = (
                memory_of(&mut shard, count)?,
                names as f64 / f64::from(count) + 9.0 * 8.0,
            );
        }
        points.push(cost(&mut shard, count, args)?);
    }
    let measured = meter.stop();
    points.reverse();
    let detail = json!({
        "costs": points.iter().map(Point::detail).collect::<Vec<_>>(),
        "growth": growth(&points),
    });
    Outcome::new(ABOUT, memory, &measured, args, detail)
}

/// Resident memory that a machine takes, made from rows as a node makes it at its start. The machine in use is replaced.
fn memory_of(shard: &mut Prepared, hosts: u32) -> Result<f64, CommandError> {
    let before = resident_bytes();
    let machine = Machine::rebuild(&shard.model.rows, shard.model.machine.shard());
    let machine = machine.map_err(|e| CommandError::of("the machine failed", e))?;
    let growth = resident_bytes().saturating_sub(before);
    shard.model.machine =
        machine.ok_or_else(|| CommandError::Message("the shard has no rows".to_owned()))?;
    if shard.active_hosts() != u64::from(hosts) {
        return Err(CommandError::Message("not every host is active".to_owned()));
    }
    Ok(growth as f64 / f64::from(hosts))
}

/// Cost at one number of hosts.
struct Point {
    hosts: u32,
    pairs: u64,
    ns_a_pair: f64,
    rows_ns_a_pair: f64,
    row_reads_a_pair: f64,
    row_writes_a_pair: f64,
}

impl Point {
    fn detail(&self) -> Value {
        json!({
            "hosts": self.hosts,
            "pairs": self.pairs,
            "ns_a_pair": rounded(self.ns_a_pair),
            "row_reads_a_pair": rounded(self.row_reads_a_pair),
            "row_writes_a_pair": rounded(self.row_writes_a_pair),
            "same_reads_and_writes_of_rows_alone_ns_a_pair": rounded(self.rows_ns_a_pair),
        })
    }
}

/// How much dearer a pair is at the most hosts than at the fewest, and how much log n grew.
fn growth(points: &[Point]) -> Value {
    let (Some(few), Some(many)) = (points.first(), points.last()) else {
        return Value::Null;
    };
    json!({
        "cost": rounded(ratio(many.ns_a_pair, few.ns_a_pair)),
        "rows_alone": rounded(ratio(many.rows_ns_a_pair, few.rows_ns_a_pair)),
        "log_n": rounded(f64::from(many.hosts).ln() / f64::from(few.hosts).ln()),
    })
}

/// Leases and reports over rows in memory: first timed, then traced, then the traced reads and writes alone, timed.
fn cost(shard: &mut Prepared, hosts: u32, args: &Args) -> Result<Point, CommandError> {
    let wanted = u64::from(args.pairs.min(hosts / 2).max(1));
    let batch = args.batch.clamp(1, 256) as usize;
    let started = cpu_time();
    let mut pairs = 0u64;
    while pairs < wanted {
        shard.model.now_ms += 1;
        let leases = shard.lease(batch)?;
        if leases.is_empty() {
            break;
        }
        shard.model.apply(prepared::report(&leases))?;
        pairs += leases.len() as u64;
    }
    let ns_a_pair = ns_since(started, pairs);
    let (steps, traced_pairs) = trace(shard, pairs / 2, batch)?;
    let count = |of: fn(&Step) -> usize| {
        let count: usize = steps.iter().map(of).sum();
        ratio(count as f64, traced_pairs as f64)
    };
    let row_reads_a_pair = count(|(reads, _)| reads.len());
    let row_writes_a_pair = count(|(_, changes)| changes.len());
    let started = cpu_time();
    replay(&mut shard.model.rows, steps)?;
    Ok(Point {
        hosts,
        pairs,
        ns_a_pair,
        rows_ns_a_pair: ns_since(started, traced_pairs),
        row_reads_a_pair,
        row_writes_a_pair,
    })
}

/// CPU time a pair: this bench has one thread, and others may use the machine too.
fn ns_since(started: Duration, pairs: u64) -> f64 {
    ratio(
        cpu_time().saturating_sub(started).as_nanos() as f64,
        pairs as f64,
    )
}

/// The reads and writes of one entry.
type Step = (Vec<Read>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn trace(
    shard: &mut Prepared,
    wanted: u64,
    batch: usize,
) -> Result<(Vec<Step>, u64), CommandError> {
    let (mut steps, mut pairs) = (Vec::new(), 0);
    shard.model.rows.start_trace();
    while pairs < wanted {
        shard.model.now_ms += 1;
        let (leases, cost) = shard.lease_counted(batch)?;
        if leases.is_empty() {
            break;
        }
        steps.push((shard.model.rows.take_trace(), cost.changes));
        let (_, cost) = shard.model.apply_counted(prepared::report(&leases))?;
        steps.push((shard.model.rows.take_trace(), cost.changes));
        pairs += leases.len() as u64;
    }
    shard.model.rows.stop_trace();
    Ok((steps, pairs))
}

fn replay(rows: &mut MapRows, steps: Vec<Step>) -> Result<(), CommandError> {
    for (reads, changes) in steps {
        for read in reads {
            let done = match read {
                Read::Get(key) => rows.get(&key).map(|row| black_box(row).map_or(0, |_| 1)),
                Read::Scan(from, to, limit) => rows
                    .scan(&from, &to, limit)
                    .map(|found| black_box(found).len()),
            };
            done.map_err(|e| CommandError::of("cannot read rows", e))?;
        }
        rows.commit(changes.into_iter());
    }
    Ok(())
}
