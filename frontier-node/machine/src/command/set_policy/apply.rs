//! Applying `set_policy`. A new policy moves no host: release looks at the policy of its moment. A shorter delay or a larger
//! budget therefore shows at a host after the wait it is in.

use super::{CrawlPolicy, HostPolicy, Policy as Whose, SetPolicy, SetPolicyReply};
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
            Some(Whose::Host(given)) => self.set_host(given)?,
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

    fn set_host(&mut self, given: &HostPolicy) -> Result<&'static str, MachineError> {
        if !self.m.holds(given.partition) {
            return Ok("wrong_shard");
        }
        if !authority::is_host(&given.host) {
            return Ok("host_name");
        }
        let found = self.m.hosts.find(given.partition, &given.host);
        if found.is_none() && given.min_delay_ms == 0 && given.block_for_ms == 0 {
            return Ok("");
        }
        let Some(id) = found.or_else(|| self.new_host(given.partition, &given.host)) else {
            return Ok("too_many_hosts_of_that_hash");
        };
        let ms = |value: u64| value.min(limits::POLICY_DURATION_MS);
        let blocked_until_ms = if given.block_for_ms == 0 {
            0
        } else {
            self.now_ms.saturating_add(ms(given.block_for_ms))
        };
        self.m.change(id, |host, crawls| {
            let rest = host.rest_mut();
            (rest.min_delay_ms, rest.blocked_until_ms) = (ms(given.min_delay_ms), blocked_until_ms);
            host.delay_ms = crate::state::delay::delay_ms(host, crawls, None).max(host.delay_ms);
        })?;
        Ok("")
    }
}
