//! What the same crawl needs by what was measured: each need is a figure of a bench times a number of the plan.

use super::Args;
use super::figures::Figures;
use super::measured::Measured;
use serde::Serialize;

const GB: f64 = 1e9;

/// Where a need's figure is from.
#[derive(Debug, Clone, Copy)]
struct Source {
    bench: &'static str,
    /// JSON pointer into the outcome.
    pointer: &'static str,
    /// The figure is divided by this number of the same outcome.
    by: Option<&'static str>,
}

/// How a need comes about.
struct Formula {
    name: &'static str,
    source: Source,
    /// Unit of the figure.
    of: &'static str,
    unit: &'static str,
    note: &'static str,
    need: fn(f64, &Args, &Figures) -> f64,
}

const fn from(bench: &'static str, pointer: &'static str) -> Source {
    Source {
        bench,
        pointer,
        by: None,
    }
}

/// Bytes of something on all replicas, GB.
fn replicated_gb(bytes: f64, count: u64, args: &Args) -> f64 {
    bytes * count as f64 * args.replicas as f64 / GB
}

const FORMULAS: [Formula; 16] = [
    Formula {
        name: "seen set on disk",
        source: from("n5", "/figure"),
        of: "bytes a URL",
        unit: "GB",
        note: "all replicas",
        need: |bytes, args, _| replicated_gb(bytes, args.urls, args),
    },
    Formula {
        name: "filter in memory",
        source: from("n5", "/detail/resident_growth_bits_a_url"),
        of: "bits a URL",
        unit: "GB a box",
        note: "all replicas; what else the node took meanwhile is in it",
        need: |bits, args, plan| replicated_gb(bits / 8.0, args.urls, args) / plan.boxes as f64,
    },
    Formula {
        name: "a billion queued URLs",
        source: from("month", "/detail/rows/queue/bytes_a_row"),
        of: "bytes a URL",
        unit: "GB",
        note: "rows of the queue before compression, all replicas",
        need: |bytes, args, _| replicated_gb(bytes, 1_000_000_000, args),
    },
    Formula {
        name: "a month's fetched URLs",
        source: from("month", "/detail/rows/url/bytes_a_row"),
        of: "bytes a page",
        unit: "GB",
        note: "records before compression, all replicas",
        need: |bytes, args, _| replicated_gb(bytes, args.pages_per_month, args),
    },
    Formula {
        name: "hosts on disk",
        source: from("month", "/detail/rows/host/bytes_a_row"),
        of: "bytes a host",
        unit: "GB",
        note: "rows before compression, all replicas",
        need: |bytes, args, _| replicated_gb(bytes, args.hosts, args),
    },
    Formula {
        name: "hosts in memory",
        source: from("n6", "/figure"),
        of: "bytes a host",
        unit: "GB a box",
        note: "all of them active, all replicas",
        need: |bytes, args, plan| replicated_gb(bytes, args.hosts, args) / plan.boxes as f64,
    },
    Formula {
        name: "log of new links",
        source: from("n1", "/detail/run/log_bytes_a_new_url"),
        of: "bytes a URL",
        unit: "MB/s",
        note: "all replicas",
        need: |bytes, _, plan| bytes * plan.new_links_per_s / 1e6,
    },
    Formula {
        name: "nodes' CPU",
        source: from("n0", "/detail/run/a_page/cpu_ms_of_nodes"),
        of: "ms a page",
        unit: "cores",
        note: "all nodes at the fleet's rate, page stores and links included",
        need: |ms, _, plan| ms / 1e3 * plan.fleet_fetches_per_s,
    },
    Formula {
        name: "fetchers' CPU",
        source: from("n0", "/detail/run/a_page/cpu_ms_of_fetchers"),
        of: "ms a page",
        unit: "cores",
        note: "all fetchers at the fleet's rate",
        need: |ms, _, plan| ms / 1e3 * plan.fleet_fetches_per_s,
    },
    Formula {
        name: "CPU of link checks",
        source: from("n2", "/detail/a_cpu_second/run"),
        of: "URLs a CPU second",
        unit: "cores",
        note: "nodes and the load together, at the average rate",
        need: |urls, _, plan| plan.link_checks_per_s / urls,
    },
    Formula {
        name: "machine's CPU",
        source: from("month", "/detail/cpu_us_of_machine_and_rows_a_page"),
        of: "us a page",
        unit: "cores",
        note: "apply on all replicas at the fleet's rate, rows in memory",
        need: |us, args, plan| us / 1e6 * plan.fleet_fetches_per_s * args.replicas as f64,
    },
    Formula {
        name: "syncs",
        source: from("n0", "/detail/run/a_page/fsyncs"),
        of: "a page",
        unit: "/s",
        note: "of the log on all nodes, at the fleet's rate; fewer when more wait together",
        need: |syncs, _, plan| syncs * plan.fleet_fetches_per_s,
    },
    Formula {
        name: "replication",
        source: from("n0", "/detail/run/a_page/append_bytes"),
        of: "bytes a page",
        unit: "MB/s",
        note: "sent by all leaders at the fleet's rate",
        need: |bytes, _, plan| bytes * plan.fleet_fetches_per_s / 1e6,
    },
    Formula {
        name: "calls",
        source: from("n0", "/detail/run/a_page/calls"),
        of: "a page",
        unit: "/s",
        note: "of fetchers and nodes at the fleet's rate",
        need: |calls, _, plan| calls * plan.fleet_fetches_per_s,
    },
    Formula {
        name: "idle shards' CPU",
        source: Source {
            by: Some("/parameters/shards"),
            ..from("n10", "/figure")
        },
        of: "% of a core a replica",
        unit: "% of a core a box",
        note: "heartbeats alone",
        need: |percent, args, plan| percent * shards_a_box(args, plan),
    },
    Formula {
        name: "shards' memory",
        source: Source {
            by: Some("/parameters/shards"),
            ..from("n10", "/detail/resident_bytes")
        },
        of: "bytes a replica",
        unit: "GB a box",
        note: "empty, the process itself included",
        need: |bytes, args, plan| bytes * shards_a_box(args, plan) / GB,
    },
];

fn shards_a_box(args: &Args, plan: &Figures) -> f64 {
    args.shards as f64 * args.replicas as f64 / plan.boxes as f64
}

/// What one thing costs, and what the crawl needs of it.
#[derive(Debug, Serialize)]
pub struct Need {
    /// What of.
    pub name: &'static str,
    /// What was measured; none when the bench is not among what was recorded.
    pub measured: Option<f64>,
    /// Its unit.
    pub of: &'static str,
    /// What the crawl needs by that.
    pub needed: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// What it counts.
    pub note: &'static str,
    /// The bench.
    pub bench: &'static str,
    /// When and where.
    pub taken: Option<String>,
}

/// All needs, in a fixed order.
pub fn needs(measured: &Measured, args: &Args, plan: &Figures) -> Vec<Need> {
    FORMULAS
        .iter()
        .map(|formula| formula.of(measured, args, plan))
        .collect()
}

impl Formula {
    fn of(&self, measured: &Measured, args: &Args, plan: &Figures) -> Need {
        let Source { bench, pointer, by } = self.source;
        let found = measured.figure(bench, pointer);
        let divisor = match by {
            Some(pointer) => measured.figure(bench, pointer).map(|figure| figure.value),
            None => Some(1.0),
        };
        let value = found.as_ref().zip(divisor);
        let value = value.map(|(figure, divisor)| figure.value / divisor);
        let value = value.filter(|value| value.is_finite());
        Need {
            name: self.name,
            measured: value,
            of: self.of,
            needed: value.map(|value| (self.need)(value, args, plan)),
            unit: self.unit,
            note: self.note,
            bench,
            taken: found.map(|figure| figure.taken.to_string()),
        }
    }
}

impl Need {
    /// Name, need, and how it comes about, for people.
    pub fn row(&self) -> [String; 3] {
        let (Some(measured), Some(needed)) = (self.measured, self.needed) else {
            let note = format!("escapement bench {} --record FILE", self.bench);
            return [self.name.to_owned(), "not measured".to_owned(), note];
        };
        [
            self.name.to_owned(),
            format!("{} {}", short(needed), self.unit),
            format!(
                "{} {} ({}), {}",
                short(measured),
                self.of,
                self.bench,
                self.note
            ),
        ]
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        (2 - value.abs().log10().floor() as i32).max(0)
    };
    format!("{value:.*}", digits as usize)
}
