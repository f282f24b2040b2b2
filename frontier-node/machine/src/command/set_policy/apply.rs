//! Applying `set_policy`. A new policy moves no host: release looks at the policy of its moment. A shorter delay or a larger
//! budget therefore shows at a host after the wait it is in.

use super::{CrawlPause, CrawlPolicy, HostChange, Policy as Whose, SetPolicy, SetPolicyReply};
use crate::{
    authority,
    error::MachineError,
    keys, limits,
    state::{Crawl, Policy},
    step::Step,
};
use prost::Message;

impl Step<'_> {
    pub(crate) fn set_policy(&mut self, set: &SetPolicy) -> Result<SetPolicyReply, MachineError> {
        let refused = match &set.policy {
            Some(Whose::Crawl(given)) => self.set_crawl(given),
            Some(Whose::Host(given)) => self.change_host(&HostChange {
                host: given.host.clone(),
                partition: given.partition,
                min_delay_ms: Some(given.min_delay_ms),
                block_for_ms: Some(given.block_for_ms),
                paused: None,
            })?,
            Some(Whose::HostChange(given)) => self.change_host(given)?,
            Some(Whose::CrawlPause(given)) => self.pause_crawl(*given),
            Some(Whose::ShardPause(given)) => {
                self.m.meta.paused = given.paused;
                ""
            }
            None => "no_policy",
        };
        Ok(SetPolicyReply { refused })
    }

    fn set_crawl(&mut self, given: &CrawlPolicy) -> &'static str {
        let refusal = Policy::refusal(given);
        if !refusal.is_empty() {
            return refusal;
        }
        match self.m.crawls.get(&given.crawl) {
            Some(crawl) if crawl.removed => return "crawl_removed",
            None if self.m.crawls.len() >= limits::CRAWLS => return "too_many_crawls",
            _ => {}
        }
        self.put_crawl(Crawl {
            policy: Policy::of(given),
            given: *given,
            removed: false,
            forget: false,
        });
        ""
    }

    pub(crate) fn put_crawl(&mut self, crawl: Crawl) {
        self.overlay.put(
            keys::crawl::key(self.m.shard, crawl.given.crawl),
            crawl.to_row().encode_to_vec(),
        );
        self.m.crawls.insert(crawl.given.crawl, crawl);
    }

    fn pause_crawl(&mut self, pause: CrawlPause) -> &'static str {
        let Some(crawl) = self.m.crawls.get(&pause.crawl).copied() else {
            return "unknown_crawl";
        };
        if crawl.removed {
            return "crawl_removed";
        }
        let given = CrawlPolicy {
            paused: pause.paused,
            ..crawl.given
        };
        self.put_crawl(Crawl {
            policy: Policy::of(&given),
            given,
            ..crawl
        });
        ""
    }

    fn change_host(&mut self, given: &HostChange) -> Result<&'static str, MachineError> {
        if !self.m.holds(given.partition) {
            return Ok("wrong_shard");
        }
        if !authority::is_host(&given.host) {
            return Ok("host_name");
        }
        let found = self.m.hosts.find(given.partition, &given.host);
        let asks = |value: Option<u64>| value.is_some_and(|value| value != 0);
        let sets_nothing =
            !asks(given.min_delay_ms) && !asks(given.block_for_ms) && given.paused != Some(true);
        if found.is_none() && sets_nothing {
            return Ok("");
        }
        let Some(id) = found.or_else(|| self.new_host(given.partition, &given.host)) else {
            return Ok("too_many_hosts_of_that_hash");
        };
        let ms = |value: u64| value.min(limits::POLICY_DURATION_MS);
        let now_ms = self.now_ms;
        self.m.change(id, |host, crawls| {
            let rest = host.rest_mut();
            if let Some(min_delay_ms) = given.min_delay_ms {
                rest.min_delay_ms = ms(min_delay_ms);
            }
            if let Some(block_for_ms) = given.block_for_ms {
                rest.blocked_until_ms = match ms(block_for_ms) {
                    0 => 0,
                    block_for_ms => now_ms.saturating_add(block_for_ms),
                };
            }
            rest.paused = given.paused.unwrap_or(rest.paused);
            host.delay_ms = crate::state::delay::delay_ms(host, crawls, None).max(host.delay_ms);
        })?;
        Ok("")
    }
}
