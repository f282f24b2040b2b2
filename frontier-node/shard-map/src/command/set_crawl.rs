//! `set_crawl`: a crawl begins, changes or ends for the whole cluster.

use crate::{
    limits,
    model::{Crawl, ShardMap},
    refusal::Refusal,
};

/// A crawl and its policy. Sent again it changes nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SetCrawl {
    /// From 1; never reused.
    #[prost(uint32, tag = "1")]
    pub crawl: u32,
    /// For people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// As the shards' `set_policy` takes it.
    #[prost(bytes = "vec", tag = "3")]
    pub policy: Vec<u8>,
    /// No URL of it is accepted from now on; it does not come back.
    #[prost(bool, tag = "4")]
    pub removed: bool,
}

impl SetCrawl {
    pub(super) fn apply(&self, next: &mut ShardMap) -> Result<Option<u64>, Refusal> {
        if self.crawl == 0 {
            return Err(Refusal::Invalid("a crawl's number is not 0"));
        }
        if self.name.len() > limits::NAME_SIZE_BYTES
            || self.policy.len() > limits::POLICY_SIZE_BYTES
        {
            return Err(Refusal::Invalid("the crawl's name or policy is too long"));
        }
        let mut crawl = Crawl {
            id: self.crawl,
            name: self.name.clone(),
            policy: self.policy.clone(),
            removed: self.removed,
            changed_version: next.version,
        };
        let count = next.crawls.len();
        match next.crawls.iter_mut().find(|known| known.id == crawl.id) {
            Some(known) if known.removed && !crawl.removed => {
                return Err(Refusal::CrawlRemoved(crawl.id));
            }
            Some(known) => {
                let since = std::mem::replace(&mut crawl.changed_version, known.changed_version);
                if *known != crawl {
                    crawl.changed_version = since;
                    *known = crawl;
                }
            }
            None if count >= limits::CRAWLS => {
                return Err(Refusal::Limit {
                    what: "the number of crawls",
                    max: limits::CRAWLS as u64,
                });
            }
            None => {
                next.crawls.push(crawl);
                next.crawls.sort_unstable_by_key(|crawl| crawl.id);
            }
        }
        Ok(None)
    }
}
