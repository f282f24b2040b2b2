//! The one line of JSON that a drill ends with.

use crate::output::CommandError;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The line, in the order of its fields. Null: not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Name of the drill.
    pub drill: &'static str,
    /// Rounds made.
    pub rounds: u32,
    /// Arrivals earlier than their host's clock allows.
    pub early_contacts: u64,
    /// URLs neither fetched nor ended with a reason.
    pub lost_urls: u64,
    /// Requests beyond those that a lost lease explains.
    pub repeats: u64,
    /// Longest time without a request while work was ready.
    pub longest_pause_ms: Option<u64>,
    /// From the fault to the next lease of the shard.
    pub next_lease_ms: NextLease,
}

/// Over all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NextLease {
    /// The middle one; of an even number the later of the two.
    pub median: Option<u64>,
    /// The longest.
    pub worst: Option<u64>,
}

impl NextLease {
    /// Of what was measured.
    pub fn of(measured: &[Duration]) -> Self {
        let ms = measured.iter().map(|d| d.as_millis() as u64);
        let mut sorted: Vec<u64> = ms.collect();
        sorted.sort_unstable();
        Self {
            median: sorted.get(sorted.len() / 2).copied(),
            worst: sorted.last().copied(),
        }
    }
}

impl fmt::Display for NextLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.median, self.worst) {
            (Some(median), Some(worst)) => write!(
                f,
                "next lease after a fault: median {median} ms, worst {worst} ms"
            ),
            _ => f.write_str("next lease after a fault: not measured"),
        }
    }
}

impl Line {
    /// As text.
    pub fn json(&self) -> Result<String, CommandError> {
        serde_json::to_string(self).map_err(|e| CommandError::of("cannot write JSON", e))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_exactly_these_fields() {
        let measured = [310, 90, 2_000, 250].map(Duration::from_millis);
        let mut line = Line {
            drill: "kill-leader",
            rounds: 4,
            early_contacts: 0,
            lost_urls: 0,
            repeats: 1,
            longest_pause_ms: Some(420),
            next_lease_ms: NextLease::of(&measured),
        };
        assert_eq!(
            line.json().unwrap(),
            r#"{"drill":"kill-leader","rounds":4,"early_contacts":0,"lost_urls":0,"repeats":1,"longest_pause_ms":420,"next_lease_ms":{"median":310,"worst":2000}}"#
        );
        (line.longest_pause_ms, line.next_lease_ms) = (None, NextLease::of(&[]));
        assert!(
            line.json().unwrap().ends_with(
                r#""longest_pause_ms":null,"next_lease_ms":{"median":null,"worst":null}}"#
            )
        );
    }
}
