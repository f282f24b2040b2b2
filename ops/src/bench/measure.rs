//! Time, CPU time, memory of this process; percentiles.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// What passed between two moments.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Real time.
    pub seconds: f64,
    /// CPU time of all threads of this process.
    pub cpu_seconds: f64,
    /// Peak resident memory since the first moment.
    pub peak_memory_bytes: u64,
}

/// A measurement under way.
#[derive(Debug)]
pub struct Meter {
    started: Instant,
    cpu: Duration,
}

impl Meter {
    /// Starts. The peak of memory is forgotten where the kernel allows that.
    pub fn start() -> Self {
        // Resets the peak (proc(5), clear_refs 5); a kernel without it leaves the peak of the whole process.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self {
            started: Instant::now(),
            cpu: cpu_time(),
        }
    }

    /// What passed since the start.
    pub fn stop(&self) -> Measured {
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu_seconds = cpu_time().saturating_sub(self.cpu).as_secs_f64();
        Measured {
            seconds,
            cpu_seconds,
            peak_memory_bytes: memory_bytes("self", "VmHWM:"),
        }
    }
}

/// CPU time of this process so far.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Resident memory of this process.
pub fn resident_bytes() -> u64 {
    memory_bytes("self", "VmRSS:")
}

/// Resident memory of another process; 0 when there is none.
pub fn resident_bytes_of(pid: u32) -> u64 {
    memory_bytes(&pid.to_string(), "VmRSS:")
}

/// The most that another process had resident since [`forget_peak_of`]; 0 when there is none.
pub fn peak_bytes_of(pid: u32) -> u64 {
    memory_bytes(&pid.to_string(), "VmHWM:")
}

/// Another process's peak of memory begins anew, where the kernel allows that.
pub fn forget_peak_of(pid: u32) {
    // Resets the peak (proc(5), clear_refs 5); a kernel without it leaves the peak of its whole life.
    let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn memory_bytes(process: &str, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    parse_kib(&status, field).unwrap_or(0) * 1_024
}

fn parse_kib(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// CPU seconds of another process so far, user and system.
pub fn cpu_seconds_of(pid: u32) -> f64 {
    /// Ticks a second in /proc, the same on every machine.
    const USER_HZ: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name may hold spaces; the fields after its closing bracket begin with the third.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / USER_HZ
}

/// Durations of which percentiles are asked.
#[derive(Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// One more.
    pub fn add(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    /// All of another.
    pub fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Percentiles in ms: `(50th, 99th, largest)`.
    pub fn summary_ms(mut self) -> (f64, f64, f64) {
        self.0.sort_unstable();
        (self.at_ms(50), self.at_ms(99), self.at_ms(100))
    }

    /// The nearest-rank percentile of sorted durations.
    fn at_ms(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).map_or(0.0, |latency| {
            super::outcome::rounded(latency.as_secs_f64() * 1_000.0)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut latencies = Latencies::default();
        (1..=200)
            .rev()
            .for_each(|ms| latencies.add(Duration::from_millis(ms)));
        assert_eq!(latencies.summary_ms(), (100.0, 198.0, 200.0));
        assert_eq!(Latencies::default().summary_ms(), (0.0, 0.0, 0.0));
    }

    #[test]
    fn the_kernel_tells_memory_and_time() {
        let meter = Meter::start();
        let kept: Vec<u64> = (0..4_000_000).collect();
        let measured = meter.stop();
        assert!(kept.iter().sum::<u64>() > 0);
        assert!(measured.peak_memory_bytes > 16 << 20 && resident_bytes() > 1 << 20);
        let here = std::process::id();
        forget_peak_of(here);
        assert!(resident_bytes_of(here) > 1 << 20 && peak_bytes_of(here) > 1 << 20);
        assert!(measured.cpu_seconds > 0.0 && measured.seconds > 0.0);
        assert_eq!(
            parse_kib("VmPeak:\t 9 kB\nVmRSS:\t  12 kB\n", "VmRSS:"),
            Some(12)
        );
    }
}
