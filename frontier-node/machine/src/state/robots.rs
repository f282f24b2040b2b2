//! The robots state of one authority of a host, as far as release needs it.

use crate::{authority::Authority, error::MachineError, keys::host as row, limits};

/// An authority of a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostAuthority {
    pub authority: Authority,
    pub robots: Robots,
}

/// Where the state stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Never asked.
    #[default]
    Unknown,
    /// Known until a wall time.
    Fresh,
    /// The last try reached nothing; the next is due at a shard time.
    Unreachable,
    /// An errand looks for it until a shard time, then it counts as unreachable.
    Pending,
}

/// The last answer that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Good {
    #[default]
    Nothing,
    AllowAll,
    /// Rules with this body.
    Rules([u8; 32]),
}

/// Robots state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Robots {
    pub phase: Phase,
    pub good: Good,
    /// Unreachable for too long: waiting URLs are being ended in slices.
    pub ending: bool,
    /// Tries in a row that reached nothing.
    pub failures: u16,
    /// Rises with each lease of it.
    pub attempt: u32,
    /// As asked, at most `u32::MAX`; the exact value is in the robots row.
    pub crawl_delay_ms: u32,
    /// Fresh: Unix ms; else shard time.
    pub until_ms: u64,
    /// Unix ms since which nothing is reached; 0 = reached.
    pub since_unix_ms: u64,
    /// An errand answered this attempt before its lease was reported as pending: that report changes nothing any more.
    pub answered: bool,
}

impl Robots {
    /// Shard time from which its lane may be worked on (be it with a robots lease); `None` = not while URLs are ended.
    pub fn waits_until_ms(&self) -> Option<u64> {
        match self.phase {
            _ if self.ending => None,
            Phase::Unknown | Phase::Fresh => Some(0),
            Phase::Unreachable if self.good != Good::Nothing => Some(0),
            Phase::Pending if self.good != Good::Nothing && self.failures > 0 => Some(0),
            Phase::Unreachable | Phase::Pending => Some(self.until_ms),
        }
    }

    /// Whether a lease of the lane must be its robots.txt.
    pub fn must_be_asked(&self, now_ms: u64, wall_ms: u64) -> bool {
        match self.phase {
            Phase::Unknown => true,
            // A date further ahead than robots may be fresh comes from a clock that was set back since.
            Phase::Fresh => {
                self.until_ms <= wall_ms
                    || self.until_ms > wall_ms.saturating_add(Self::LONGEST_FRESH_MS)
            }
            Phase::Unreachable | Phase::Pending => self.until_ms <= now_ms,
        }
    }

    /// RFC 9309 2.4: at most 24 hours.
    pub const LONGEST_FRESH_MS: u64 = 86_400_000;

    /// A try reached nothing. `retry_ms` from `now_ms` on it is asked again.
    pub fn fail(&mut self, retry_at_ms: u64, wall_ms: u64) {
        self.phase = Phase::Unreachable;
        self.failures = self.failures.saturating_add(1);
        self.until_ms = retry_at_ms;
        if self.since_unix_ms == 0 || self.since_unix_ms > wall_ms {
            self.since_unix_ms = wall_ms.max(1);
        }
        if wall_ms - self.since_unix_ms.min(wall_ms) >= limits::ROBOTS_UNREACHABLE_DAYS * 86_400_000
        {
            self.ending = true;
        }
    }

    /// A try had an answer that holds until `expires_unix_ms`.
    pub fn succeed(&mut self, good: Good, expires_unix_ms: u64) {
        *self = Self {
            phase: Phase::Fresh,
            good,
            attempt: self.attempt,
            crawl_delay_ms: self.crawl_delay_ms,
            answered: self.answered,
            until_ms: expires_unix_ms,
            ..Self::default()
        };
    }

    /// Stable name of the state.
    pub fn name(&self, wall_ms: u64) -> &'static str {
        match (self.phase, self.good) {
            _ if self.ending => "ending",
            (Phase::Unknown, _) => "unknown",
            (Phase::Pending, _) => "pending",
            (Phase::Unreachable, Good::Nothing) => "unreachable",
            (Phase::Unreachable, _) => "unreachable_last_good_used",
            (Phase::Fresh, _) if self.must_be_asked(0, wall_ms) => "stale",
            (Phase::Fresh, Good::Rules(_)) => "rules",
            (Phase::Fresh, _) => "allow_all",
        }
    }
}

impl HostAuthority {
    pub fn to_row(&self) -> row::AuthorityRow {
        let robots = &self.robots;
        let (good, digest) = match robots.good {
            Good::Nothing => (0, Vec::new()),
            Good::AllowAll => (1, Vec::new()),
            Good::Rules(digest) => (2, digest.to_vec()),
        };
        row::AuthorityRow {
            https: self.authority.https,
            port: u32::from(self.authority.port),
            phase: robots.phase as u32,
            good,
            digest,
            ending: robots.ending,
            failures: u32::from(robots.failures),
            attempt: robots.attempt,
            crawl_delay_ms: robots.crawl_delay_ms,
            until_ms: robots.until_ms,
            since_unix_ms: robots.since_unix_ms,
            answered: robots.answered,
        }
    }

    pub fn from_row(row: &row::AuthorityRow) -> Result<Self, MachineError> {
        let corrupt = |what: &str| MachineError::corrupt(row::SPACE, what);
        let phase = match row.phase {
            0 => Phase::Unknown,
            1 => Phase::Fresh,
            2 => Phase::Unreachable,
            3 => Phase::Pending,
            _ => return Err(corrupt("robots phase")),
        };
        let good = match row.good {
            0 => Good::Nothing,
            1 => Good::AllowAll,
            2 => Good::Rules(
                row.digest
                    .as_slice()
                    .try_into()
                    .map_err(|_| corrupt("robots digest"))?,
            ),
            _ => return Err(corrupt("robots answer")),
        };
        Ok(Self {
            authority: Authority {
                https: row.https,
                port: u16::try_from(row.port).map_err(|_| corrupt("port"))?,
            },
            robots: Robots {
                phase,
                good,
                ending: row.ending,
                failures: u16::try_from(row.failures).unwrap_or(u16::MAX),
                attempt: row.attempt,
                crawl_delay_ms: row.crawl_delay_ms,
                until_ms: row.until_ms,
                since_unix_ms: row.since_unix_ms,
                answered: row.answered,
            },
        })
    }
}
