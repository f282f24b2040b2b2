//! Offers: new exactly when nothing is known and no rule speaks against it.

use super::{
    clock,
    state::{Good, Host, Judged, Model, Phase, Url, WaitingErrand, Where, must},
};
use crate::{
    authority::Authority,
    command::{
        discover::{Discover, DiscoverResult, Errand, ErrandResult, ItemKind, Link, Refusal},
        lease::LeaseKind,
        report::{RobotsCode, RobotsFound},
    },
    invariants::View,
    limits,
};

impl Model {
    pub fn judge_discover(
        &mut self,
        batch: &Discover,
        results: &[DiscoverResult],
        after: &View,
    ) -> Judged {
        must(results.len() == batch.items.len(), || {
            "one result an item".into()
        })?;
        for (item, result) in batch.items.iter().zip(results) {
            match &item.kind {
                Some(ItemKind::Link(link)) => self.judge_link(link, result)?,
                Some(ItemKind::Errand(errand)) => self.judge_errand(errand, result)?,
                Some(ItemKind::ErrandResult(found)) => {
                    self.judge_errand_result(found, result, after)?
                }
                None => must(
                    *result == DiscoverResult::Refused(Refusal::Malformed),
                    || format!("an empty item was answered {result:?}"),
                )?,
            }
        }
        Ok(())
    }

    fn judge_link(&mut self, link: &Link, result: &DiscoverResult) -> Judged {
        let wrong = |allowed: &str| {
            format!(
                "{} of crawl {} was answered {result:?}, expected {allowed}",
                link.url, link.crawl
            )
        };
        if !self.holds(link.partition) {
            return must(*result == DiscoverResult::WrongShard, || {
                wrong("wrong shard")
            });
        }
        let refusals = self.refusals(link);
        if self.url(link.partition, link.fingerprint).is_some() {
            let known = *result == DiscoverResult::Known;
            let refused = matches!(
                result,
                DiscoverResult::Refused(
                    Refusal::UnknownCrawl | Refusal::CrawlRemoved | Refusal::Malformed
                )
            );
            return must(known || (refused && !refusals.is_empty()), || {
                wrong("known")
            });
        }
        if !refusals.is_empty() {
            let named =
                matches!(result, DiscoverResult::Refused(reason) if refusals.contains(reason));
            return must(named, || wrong(&format!("one of {refusals:?}")));
        }
        must(*result == DiscoverResult::New, || wrong("new"))?;
        let Some((host, authority)) = Authority::of(&link.url) else {
            return Err(wrong("malformed"));
        };
        let now_ms = self.now_ms;
        self.host_or_new(link.partition, host)
            .robots
            .entry(authority)
            .or_default();
        self.accepted += 1;
        self.urls.push(Url {
            crawl: link.crawl,
            partition: link.partition,
            fingerprint: link.fingerprint,
            url: link.url.clone(),
            host: host.into(),
            authority,
            priority: link.priority.min(255) as u8,
            depth: link.depth,
            redirect_hops: link.redirect_hops,
            metadata: link.metadata.clone(),
            place: Where::Queued { due_ms: now_ms },
            attempts: 0,
            digest: Vec::new(),
            etag: String::new(),
        });
        Ok(())
    }

    /// Every reason that speaks against a new link.
    fn refusals(&self, link: &Link) -> Vec<Refusal> {
        let mut reasons = Vec::new();
        let Some((name, _)) = Authority::of(&link.url) else {
            return vec![Refusal::Malformed];
        };
        if link.url.len() > limits::URL_SIZE_BYTES {
            reasons.push(Refusal::Malformed);
        }
        let Some(crawl) = self.crawls.get(&link.crawl) else {
            return vec![Refusal::UnknownCrawl, Refusal::Malformed];
        };
        let policy = &crawl.given;
        let queued = |url: &&Url| {
            url.partition == link.partition && matches!(url.place, Where::Queued { .. })
        };
        let on_site = self.urls.iter().filter(queued).count() as u64;
        let on_host = self.queued_on(link.partition, name).count() as u64;
        let hosts = self
            .hosts
            .iter()
            .filter(|host| host.partition == link.partition)
            .count() as u64;
        let (host_most, site_most, hosts_most) = clock::max_queued(policy);
        for (holds, reason) in [
            (crawl.removed, Refusal::CrawlRemoved),
            (link.depth > clock::max_depth(policy), Refusal::Depth),
            (
                link.redirect_hops > clock::max_redirect_hops(policy),
                Refusal::RedirectHops,
            ),
            (on_host >= host_most, Refusal::HostQueueFull),
            (on_site >= site_most, Refusal::SiteQueueFull),
            (
                hosts >= hosts_most && self.host(link.partition, name).is_none(),
                Refusal::SiteHosts,
            ),
        ] {
            if holds {
                reasons.push(reason);
            }
        }
        reasons
    }

    fn judge_errand(&mut self, errand: &Errand, result: &DiscoverResult) -> Judged {
        let wrong = |allowed: &str| {
            format!("errand {errand:?} was answered {result:?}, expected {allowed}")
        };
        if !self.holds(errand.partition) {
            return must(*result == DiscoverResult::WrongShard, || {
                wrong("wrong shard")
            });
        }
        let Some((host, _)) = Authority::of(&errand.url) else {
            return must(
                *result == DiscoverResult::Refused(Refusal::Malformed),
                || wrong("malformed"),
            );
        };
        if !(1..=limits::ERRAND_HOPS).contains(&errand.hop) {
            return must(
                matches!(
                    result,
                    DiscoverResult::Refused(Refusal::ErrandHops | Refusal::Malformed)
                ),
                || wrong("too many hops"),
            );
        }
        let same = |waiting: &WaitingErrand| {
            waiting.errand.partition == errand.partition
                && waiting.errand.fingerprint == errand.fingerprint
                && waiting.host == host
        };
        if let Some(placed) = self.errands.iter_mut().find(|waiting| same(waiting)) {
            // At most one for each origin: a later attempt or hop takes the place of the one before, be it leased or not.
            let is_newer =
                (errand.attempt, errand.hop) > (placed.errand.attempt, placed.errand.hop);
            let expected = if is_newer {
                DiscoverResult::New
            } else {
                DiscoverResult::Known
            };
            if is_newer {
                (placed.errand, placed.expiries) = (errand.clone(), 0);
            }
            return must(*result == expected, || wrong(&format!("{expected:?}")));
        }
        let waiting = self
            .errands
            .iter()
            .filter(|waiting| waiting.host == host)
            .count();
        if waiting >= limits::ERRANDS_PER_HOST {
            return must(
                *result == DiscoverResult::Refused(Refusal::ErrandsFull),
                || wrong("full"),
            );
        }
        must(*result == DiscoverResult::New, || wrong("new"))?;
        self.host_or_new(errand.partition, host);
        self.errands.push(WaitingErrand {
            errand: errand.clone(),
            host: host.into(),
            expiries: 0,
        });
        Ok(())
    }

    fn judge_errand_result(
        &mut self,
        found: &ErrandResult,
        result: &DiscoverResult,
        after: &View,
    ) -> Judged {
        let wrong = |allowed: &str| {
            format!(
                "the result for {} was answered {result:?}, expected {allowed}",
                found.origin
            )
        };
        if !self.holds(found.origin_partition) {
            return must(*result == DiscoverResult::WrongShard, || {
                wrong("wrong shard")
            });
        }
        let (Some((name, authority)), Some(robots)) = (Authority::of(&found.origin), &found.robots)
        else {
            return must(
                *result == DiscoverResult::Refused(Refusal::Malformed),
                || wrong("malformed"),
            );
        };
        if !matches!(
            robots.code(),
            RobotsCode::Rules
                | RobotsCode::AllowAll
                | RobotsCode::Unreachable
                | RobotsCode::Pending
        ) {
            // An errand asks unconditionally.
            return must(
                *result == DiscoverResult::Refused(Refusal::Malformed),
                || wrong("malformed"),
            );
        }
        let known = self
            .host(found.origin_partition, name)
            .and_then(|host| host.robots.get(&authority));
        let is_out = self.leases.iter().any(|lease| {
            lease.key.kind() == LeaseKind::Robots
                && lease.key.partition == found.origin_partition
                && (lease.host.as_str(), lease.authority) == (name, Some(authority))
        });
        let waits = known.is_some_and(|known| {
            known.attempt == found.attempt
                && (known.phase == Phase::Pending || is_out)
                && !known.answered
        });
        if !waits {
            return must(*result == DiscoverResult::Known, || wrong("known"));
        }
        must(*result == DiscoverResult::New, || wrong("new"))?;
        self.take_robots(found.origin_partition, name, authority, robots, after)?;
        if is_out && robots.code() != RobotsCode::Pending {
            let host = self.host_mut(found.origin_partition, name)?;
            host.robots.entry(authority).or_default().answered = true;
        }
        Ok(())
    }

    /// What a robots.txt request found becomes the authority's state (RFC 9309 2.3.1).
    pub fn take_robots(
        &mut self,
        partition: u64,
        name: &str,
        authority: Authority,
        found: &RobotsFound,
        after: &View,
    ) -> Judged {
        let row = self
            .authority_in(after, partition, name, authority)
            .ok_or_else(|| format!("no row of {name}"))?;
        let (now_ms, wall_ms) = (self.now_ms, self.wall_ms);
        let host: &mut Host = self.host_mut(partition, name)?;
        let robots = host.robots.entry(authority).or_default();
        let known = robots.good != Good::Nothing;
        let kept = |good: &Good| good.clone();
        let answer = match found.code() {
            RobotsCode::Rules if found.no_valid_line && known => {
                Some((kept(&robots.good), robots.asked_ms))
            }
            RobotsCode::Rules => Some((Good::Rules(found.digest.clone()), found.crawl_delay_ms)),
            RobotsCode::AllowAll => Some((Good::AllowAll, 0)),
            RobotsCode::NotModified if matches!(robots.good, Good::Rules(_)) => {
                Some((kept(&robots.good), robots.asked_ms))
            }
            RobotsCode::NotModified | RobotsCode::Unreachable | RobotsCode::Pending => None,
        };
        if let Some((good, asked_ms)) = answer {
            must(row.phase == 1, || {
                format!("{name} had an answer and its phase is {}", row.phase)
            })?;
            must(
                row.until_ms > wall_ms && row.until_ms <= wall_ms + 86_400_000,
                || format!("{name}: fresh until {} at {wall_ms}", row.until_ms),
            )?;
            (robots.phase, robots.good, robots.asked_ms) =
                (Phase::Fresh, good, asked_ms.min(u64::from(u32::MAX)));
            (
                robots.until_ms,
                robots.failures,
                robots.since_unix_ms,
                robots.ending,
            ) = (row.until_ms, 0, 0, false);
        } else if found.code() == RobotsCode::Pending {
            must(
                row.phase == 3
                    && row.until_ms >= now_ms + limits::ROBOTS_PENDING_MS
                    && row.until_ms <= now_ms + limits::ROBOTS_RETRY_CAP_MS,
                || format!("{name} waits for an errand, its row says {row:?}"),
            )?;
            (robots.phase, robots.until_ms) = (Phase::Pending, row.until_ms);
        } else {
            must(row.phase == 2, || {
                format!("{name} was not reached, its row says {row:?}")
            })?;
            must(
                row.until_ms > now_ms && row.until_ms <= now_ms + limits::ROBOTS_RETRY_CAP_MS,
                || format!("{name}: next try at {}", row.until_ms),
            )?;
            robots.fail(row.until_ms, wall_ms);
        }
        Ok(())
    }
}
