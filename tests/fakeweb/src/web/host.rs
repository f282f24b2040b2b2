//! One host: how large, how slow, and what its robots file is. A pure function of (seed, number).

use super::Web;
use super::names::host_name;
use crate::rng::{Purpose, Rng};

/// What `/robots.txt` of a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RobotsKind {
    /// A 4xx status: everything is allowed (RFC 9309 section 2.3.1.3).
    Absent(u16),
    /// A file without restriction.
    Allow,
    /// A file of no bytes.
    Empty,
    /// A file that disallows some paths.
    Rules,
    /// A file that disallows everything.
    DisallowAll,
    /// A file with a crawl-delay, in milliseconds.
    CrawlDelay(u32),
    /// A 5xx status: everything is disallowed (RFC 9309 section 2.3.1.4).
    Error(u16),
    /// Rules behind one or two redirects within the host.
    MovedWithin(u8),
    /// Rules behind a redirect to the host of that number.
    MovedTo(u32),
    /// Rules in a file beyond 500 KiB.
    Huge,
}

impl RobotsKind {
    /// Whether the file disallows some paths of the host.
    pub(crate) fn has_rules(self) -> bool {
        matches!(
            self,
            Self::Rules | Self::MovedWithin(_) | Self::MovedTo(_) | Self::Huge
        )
    }

    /// Whether nothing of the host may be fetched.
    pub(crate) fn blocks_all(self) -> bool {
        matches!(self, Self::DisallowAll | Self::Error(_))
    }

    /// The crawl-delay of the file, 0 if it has none.
    pub(crate) fn crawl_delay_ms(self) -> u32 {
        if let Self::CrawlDelay(delay_ms) = self {
            delay_ms
        } else {
            0
        }
    }

    fn is_plain(self) -> bool {
        matches!(
            self,
            Self::Absent(_) | Self::Allow | Self::Empty | Self::Rules
        )
    }
}

/// One host's description.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Number of units; a unit is one URL, or a redirect chain of a few.
    pub(crate) units: u32,
    /// Unit k is linked from unit (k - 1) / branch.
    pub(crate) branch: u32,
    /// Units whose number modulo 16 is this may be chains.
    pub(crate) chain_place: u32,
    pub(crate) robots: RobotsKind,
    /// Wait before the first byte of each answer, in milliseconds; 0 for a host that is not slow.
    pub(crate) slow_ms: u32,
}

impl Host {
    /// Units that others hang from: they must be plain pages.
    pub(crate) fn is_inner(&self, unit: u32) -> bool {
        unit == 0 || unit * self.branch + 1 < self.units
    }
}

/// Tries at finding another host that may hold a robots file.
const MAX_TRIES: usize = 8;

impl Web {
    /// Describes host `index`.
    pub(crate) fn host(&self, index: u32) -> Host {
        let mut rng = self.rng(Purpose::Host, index, 0);
        let robots = self.robots_kind(index);
        let slow = rng.chance(40) && self.features.slow_hosts && !self.holds_others(index);
        let slow_ms = if slow {
            rng.range(self.shape.slow_min_ms, self.shape.slow_max_ms)
        } else {
            0
        };
        let fetch_ms = 1000.max(slow_ms * 10).max(robots.crawl_delay_ms());
        // A chain has up to three URLs more than its unit, at every sixteenth unit at most.
        let urls = self.shape.max_pages_per_host * 1000 / fetch_ms;
        let most = (urls * 16 / 19).saturating_sub(3).max(1);
        let units = self.sizes.draw(&mut rng).min(most);
        Host {
            index,
            name: host_name(index),
            units,
            branch: rng.range(4, 16),
            chain_place: rng.below(16),
            robots,
            slow_ms,
        }
    }

    /// Whether other hosts hang from this host's root: it must then be a host without troubles.
    pub(crate) fn holds_others(&self, index: u32) -> bool {
        index == 0 || u64::from(index) * u64::from(self.shape.fan_out) + 1 < u64::from(self.hosts)
    }

    fn robots_kind(&self, index: u32) -> RobotsKind {
        let mut rng = self.rng(Purpose::Robots, index, 0);
        let kind = self.first_robots_kind(index, &mut rng);
        let RobotsKind::MovedTo(_) = kind else {
            return kind;
        };
        for _ in 0..MAX_TRIES {
            let other = rng.below(self.hosts);
            let others = self.first_robots_kind(other, &mut self.rng(Purpose::Robots, other, 0));
            if other != index && others.is_plain() {
                return RobotsKind::MovedTo(other);
            }
        }
        RobotsKind::Allow
    }

    /// The kind before the target of a redirect is chosen.
    fn first_robots_kind(&self, index: u32, rng: &mut Rng) -> RobotsKind {
        let features = &self.features;
        let roll = rng.below(1000);
        let drawn = match roll {
            _ if index == 0 => RobotsKind::Allow,
            0..240 => RobotsKind::Absent(404),
            240..260 => RobotsKind::Absent(rng.pick(&[401, 403, 410])),
            260..300 => RobotsKind::Empty,
            300..500 => RobotsKind::Allow,
            500..760 if features.robots_rules => RobotsKind::Rules,
            760..785 if features.robots_rules => RobotsKind::DisallowAll,
            785..850 if features.crawl_delay => {
                RobotsKind::CrawlDelay(rng.pick(&[1000, 1500, 2000, 3000]))
            }
            850..880 if features.robots_errors => RobotsKind::Error(rng.pick(&[500, 503])),
            880..930 if features.robots_redirects => RobotsKind::MovedWithin(rng.range(1, 2) as u8),
            930..985 if features.robots_redirects => RobotsKind::MovedTo(0),
            985..1000 if features.robots_huge => RobotsKind::Huge,
            _ => RobotsKind::Allow,
        };
        if self.holds_others(index) && !drawn.is_plain() {
            RobotsKind::Allow
        } else {
            drawn
        }
    }
}
