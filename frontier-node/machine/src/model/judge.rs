//! One entry of at most one command: what it may have answered and changed.

use super::state::{Crawl, Judged, Model, must};
use crate::{
    command::set_policy::{CrawlPolicy, HostChange, Policy, SetPolicy, SetPolicyReply},
    entry::{Body, CommandReply, Entry, Reply},
    invariants::View,
};

impl Model {
    /// Takes an entry over, or says what the machine did wrong. `whole` are the rows after it, those of a child it split off
    /// included. What is left is compared with the rows then.
    pub fn judge(&mut self, entry: &Entry, reply: &Reply, whole: &View) -> Judged {
        self.now_ms = self.now_ms.max(entry.now_ms);
        self.wall_ms = entry.wall_unix_ms;
        must(reply.now_ms == self.now_ms, || {
            format!(
                "the entry is stamped {}, expected {}",
                reply.now_ms, self.now_ms
            )
        })?;
        must(
            reply.replies.len() == entry.commands.len() && entry.commands.len() <= 1,
            || "one reply a command".into(),
        )?;
        self.due(whole)?;
        if let (Some(command), Some(reply)) = (entry.commands.first(), reply.replies.first()) {
            self.judge_command(&command.body, reply, whole)?;
        }
        Ok(())
    }

    fn judge_command(&mut self, body: &Option<Body>, reply: &CommandReply, after: &View) -> Judged {
        match (body, reply) {
            (Some(Body::Discover(batch)), CommandReply::Discover(results)) => {
                self.judge_discover(batch, results, after)
            }
            (Some(Body::Lease(call)), CommandReply::Lease(reply)) => {
                self.judge_lease(call, reply, after)
            }
            (Some(Body::Report(batch)), CommandReply::Report(results)) => {
                self.judge_report(batch, results, after)
            }
            (Some(Body::Release(batch)), CommandReply::Release(results)) => {
                self.judge_release(batch, results)
            }
            (Some(Body::SetPolicy(set)), CommandReply::SetPolicy(reply)) => {
                self.judge_policy(set, reply)
            }
            (Some(Body::Remove(slice)), CommandReply::Remove(reply)) => {
                self.judge_remove(slice, reply, after)
            }
            (Some(Body::Deliver(batch)), CommandReply::Deliver(count)) => {
                self.judge_deliver(&batch.keys, *count, after)
            }
            (Some(Body::Split(split)), CommandReply::Split(reply)) => {
                self.judge_split(split, reply)
            }
            (Some(Body::Recover(recover)), CommandReply::Recover(reply)) => {
                self.judge_recover(recover, reply, after)
            }
            (None, CommandReply::Unknown) => Ok(()),
            (body, reply) => Err(format!("{body:?} was answered {reply:?}")),
        }
    }

    fn judge_policy(&mut self, set: &SetPolicy, reply: &SetPolicyReply) -> Judged {
        let accepted = reply.refused.is_empty();
        match &set.policy {
            Some(Policy::Crawl(policy)) => {
                let removed = self
                    .crawls
                    .get(&policy.crawl)
                    .is_some_and(|crawl| crawl.removed);
                let refused = removed || !makes_sense(policy);
                must(accepted != refused, || {
                    format!("{policy:?} was answered {reply:?}")
                })?;
                if accepted {
                    self.crawls.insert(
                        policy.crawl,
                        Crawl {
                            given: *policy,
                            removed: false,
                            forget: false,
                        },
                    );
                }
            }
            Some(Policy::Host(policy)) => {
                let change = HostChange {
                    host: policy.host.clone(),
                    partition: policy.partition,
                    min_delay_ms: Some(policy.min_delay_ms),
                    block_for_ms: Some(policy.block_for_ms),
                    paused: None,
                };
                self.judge_host_change(&change, reply)?;
            }
            Some(Policy::HostChange(change)) => self.judge_host_change(change, reply)?,
            Some(Policy::CrawlPause(pause)) => {
                let crawl = self.crawls.get_mut(&pause.crawl);
                let crawl = crawl.filter(|crawl| !crawl.removed);
                must(accepted == crawl.is_some(), || {
                    format!("{pause:?} was answered {reply:?}")
                })?;
                if let Some(crawl) = crawl {
                    crawl.given.paused = pause.paused;
                }
            }
            Some(Policy::ShardPause(pause)) => {
                must(accepted, || format!("{pause:?} was answered {reply:?}"))?;
                self.paused = pause.paused;
            }
            None => must(!accepted, || "no policy was accepted".into())?,
        }
        Ok(())
    }

    fn judge_host_change(&mut self, change: &HostChange, reply: &SetPolicyReply) -> Judged {
        let refused = if self.holds(change.partition) {
            ""
        } else {
            "wrong_shard"
        };
        must(reply.refused == refused, || {
            format!("{change:?} was answered {reply:?}")
        })?;
        let (delay_ms, block_ms) = (change.min_delay_ms, change.block_for_ms);
        let sets = delay_ms.unwrap_or(0) + block_ms.unwrap_or(0) > 0 || change.paused == Some(true);
        let is_known = self.host(change.partition, &change.host).is_some();
        if !refused.is_empty() || (!sets && !is_known) {
            return Ok(());
        }
        let now_ms = self.now_ms;
        let host = self.host_or_new(change.partition, &change.host);
        if let Some(block_ms) = block_ms {
            host.blocked_until_ms = if block_ms == 0 { 0 } else { now_ms + block_ms };
        }
        host.min_delay_ms = delay_ms.unwrap_or(host.min_delay_ms);
        host.paused = change.paused.unwrap_or(host.paused);
        Ok(())
    }

    fn judge_deliver(&mut self, keys: &[Vec<u8>], count: u64, after: &View) -> Judged {
        must(
            count <= keys.len() as u64 && self.outbox.len() as u64 >= count,
            || format!("delivered {count} of {}", keys.len()),
        )?;
        let left: Vec<_> = after.outbox.values().cloned().collect();
        must(
            left.len() as u64 + count == self.outbox.len() as u64,
            || "rows left do not match the rows delivered".into(),
        )?;
        must(left.iter().all(|item| self.outbox.contains(item)), || {
            "an item nobody put there".into()
        })?;
        self.outbox = left;
        self.delivered += count;
        Ok(())
    }
}

fn makes_sense(policy: &CrawlPolicy) -> bool {
    let (least, most) = super::clock::revisit_bounds_ms(policy);
    let back_off = |value: u64, default: u64| if value == 0 { default } else { value };
    policy.crawl != 0
        && least <= most
        && back_off(policy.back_off_base_ms, 10_000) <= back_off(policy.back_off_cap_ms, 86_400_000)
}
