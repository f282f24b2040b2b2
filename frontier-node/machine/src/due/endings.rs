//! URLs whose robots.txt was unreachable for 30 days end, a slice at a time.

use crate::{
    counters::Counter,
    error::MachineError,
    keys::url::{Stored, UrlRow},
    limits,
    step::Step,
};

impl Step<'_> {
    pub(crate) fn end_behind_dead_robots(&mut self) -> Result<(), MachineError> {
        for _ in 0..limits::ENDINGS_PER_ENTRY {
            let Some(id) = self.m.index.next_ending() else {
                break;
            };
            self.end_one(id)?;
        }
        Ok(())
    }

    fn end_one(&mut self, id: u64) -> Result<(), MachineError> {
        let host = self.m.hosts.host(id)?;
        let slots = || {
            host.authorities
                .iter()
                .enumerate()
                .filter(|(_, known)| known.robots.ending)
                .map(|(slot, _)| slot)
        };
        let lane = host
            .lanes
            .iter()
            .find(|lane| slots().any(|slot| slot == usize::from(lane.slot)))
            .copied();
        let Some(lane) = lane else {
            // All ended; URLs that come later get their own 30 days.
            let wall_ms = self.wall_ms;
            return self.m.change(id, |host, _| {
                for known in host
                    .authorities
                    .iter_mut()
                    .filter(|known| known.robots.ending)
                {
                    known.robots.ending = false;
                    known.robots.since_unix_ms = wall_ms.max(1);
                }
            });
        };
        let partition = host.partition;
        let (place, row) = self.take_head(id, lane.crawl, lane.slot)?;
        let mut url = if row.tried {
            self.tried_url(partition, place.fingerprint)?
        } else {
            UrlRow::of_queue(place.crawl, place.priority, row)
        };
        url.state = Stored::Refused as i32;
        url.last_reason = "robots_unreachable".into();
        self.put_url(partition, place.fingerprint, &url);
        self.m.meta.refused += 1;
        self.m.count(Counter::RobotsUnreachable);
        Ok(())
    }
}
