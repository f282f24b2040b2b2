//! Hosts to rows and back.

use super::{
    host::{Host, Lane, Rest},
    robots::HostAuthority,
};
use crate::{
    error::MachineError,
    keys::host::{self as row, HostRow, LaneRow},
};
use smallvec::SmallVec;

impl Host {
    pub fn to_row(&self, id: u64) -> HostRow {
        HostRow {
            id,
            lanes: self.lanes.iter().map(lane_row).collect(),
            authorities: self.authorities.iter().map(HostAuthority::to_row).collect(),
            last_contact_ms: self.contacted.then_some(self.last_contact_ms),
            delay_ms: self.delay_ms,
            back_off_until_ms: self.back_off_until_ms,
            failures: u32::from(self.failures),
            dns_failures: u32::from(self.dns_failures),
            response_time_ms: self.response_time_ms,
            since_ms: self.since_ms,
            scheduled: self.scheduled,
            due_unix_ms: (self.due_unix_ms != u64::MAX).then_some(self.due_unix_ms),
            last_due_unix_ms: self.last_due_unix_ms,
            kept_until_ms: self.kept_until_ms,
            errands: u32::from(self.errands),
            errand_turn: self.errand_turn,
            done: self.done,
            blocked_until_ms: self.blocked_until_ms(),
            min_delay_ms: self.min_delay_ms(),
            paused: self.is_paused(),
            budgets: self.budgets().to_vec(),
        }
    }

    pub fn from_row(partition: u64, name: &str, row: HostRow) -> Result<Self, MachineError> {
        let corrupt = |what: &str| MachineError::corrupt(row::SPACE, what);
        let rest = Rest {
            blocked_until_ms: row.blocked_until_ms,
            min_delay_ms: row.min_delay_ms,
            paused: row.paused,
            budgets: row.budgets,
        };
        let mut authorities: SmallVec<[HostAuthority; 1]> = row
            .authorities
            .iter()
            .map(HostAuthority::from_row)
            .collect::<Result<_, _>>()?;
        authorities.shrink_to_fit();
        let is_right = |lane: &Lane| usize::from(lane.slot) < authorities.len();
        let lanes = row.lanes.iter().map(|lane| lane_of(lane).filter(is_right));
        let mut lanes: SmallVec<[Lane; 1]> = lanes
            .collect::<Option<_>>()
            .ok_or_else(|| corrupt("lane"))?;
        lanes.shrink_to_fit();
        Ok(Self {
            lanes,
            authorities,
            last_contact_ms: row.last_contact_ms.unwrap_or(0),
            contacted: row.last_contact_ms.is_some(),
            delay_ms: row.delay_ms,
            back_off_until_ms: row.back_off_until_ms,
            since_ms: row.since_ms,
            due_unix_ms: row.due_unix_ms.unwrap_or(u64::MAX),
            last_due_unix_ms: row.last_due_unix_ms,
            kept_until_ms: row.kept_until_ms,
            rest: (rest != Rest::default()).then(|| Box::new(rest)),
            scheduled: row.scheduled,
            done: row.done,
            response_time_ms: row.response_time_ms,
            failures: u16::try_from(row.failures).map_err(|_| corrupt("failures"))?,
            dns_failures: u16::try_from(row.dns_failures).map_err(|_| corrupt("failures"))?,
            errands: u8::try_from(row.errands).map_err(|_| corrupt("errands"))?,
            errand_turn: row.errand_turn,
            ..Self::new(partition, name)
        })
    }
}

fn lane_row(lane: &Lane) -> LaneRow {
    LaneRow {
        crawl: lane.crawl,
        authority: u32::from(lane.slot),
        count: lane.count,
        priority: u32::from(lane.priority),
        due_ms: lane.due_ms,
        fingerprint: lane.fingerprint,
    }
}

fn lane_of(row: &LaneRow) -> Option<Lane> {
    Some(Lane {
        crawl: row.crawl,
        slot: u8::try_from(row.authority).ok()?,
        priority: u8::try_from(row.priority).ok()?,
        count: row.count,
        due_ms: row.due_ms,
        fingerprint: row.fingerprint,
    })
}
