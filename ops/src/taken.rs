//! When and on which machine a figure was taken: without that it says nothing.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// When and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// UTC, as `2026-11-30T23:30:00.000Z`.
    pub at: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// What the system calls its processor; empty where it does not say.
    pub processor: String,
    /// Memory of the machine, bytes; 0 where the system does not say.
    pub memory_bytes: u64,
    /// Processes that ran or waited, on average over the last minute: more than the cores means that others worked too.
    pub load: f64,
}

impl Taken {
    /// Here and now.
    pub fn now() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let unix_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        Self {
            at: page_store::format_date(unix_ms).unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            memory_bytes: memory_bytes().unwrap_or(0),
            load: load().unwrap_or(0.0),
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        write!(
            out,
            "{}, {} cores of {}, {gib:.1} GiB, load {}",
            self.at, self.cores, self.processor, self.load
        )
    }
}

/// The first `name : value` line of a file of the kernel.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let values = text.lines().filter_map(|line| line.split_once(':'));
    let mut named = values.filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim().to_owned())
}

fn memory_bytes() -> Option<u64> {
    let kib = field("/proc/meminfo", "MemTotal")?;
    let kib: u64 = kib.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_when_and_where() {
        let taken = Taken::now();
        assert!(
            taken.at.starts_with("20") && taken.at.ends_with('Z'),
            "{taken:?}"
        );
        assert!(taken.cores > 0 && taken.memory_bytes > 1 << 20);
        let text = serde_json::to_string(&taken).unwrap();
        assert_eq!(serde_json::from_str::<Taken>(&text).unwrap(), taken);
        assert!(taken.to_string().contains(&taken.at));
    }
}
