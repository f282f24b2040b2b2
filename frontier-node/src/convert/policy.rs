//! Policies of crawls and hosts.

use machine::command::set_policy as m;
use machine::{CrawlRecord, ShardSettings};
use proto::frontier_v1 as pb;

use super::{Rejected, Verifier};

/// Checks a policy. Bounds of its numbers are the machine's.
pub(crate) fn policy_from_wire(
    verifier: &Verifier,
    policy: pb::set_policy_request::Policy,
) -> Result<m::SetPolicy, Rejected> {
    let policy = match policy {
        pb::set_policy_request::Policy::Crawl(crawl) => m::Policy::Crawl(crawl_from_wire(&crawl)?),
        pb::set_policy_request::Policy::Host(host) => {
            verifier.host(&host.host, host.partition)?;
            m::Policy::Host(m::HostPolicy {
                host: host.host,
                partition: host.partition,
                min_delay_ms: host.min_delay_ms,
                block_for_ms: host.block_for_ms,
            })
        }
        pb::set_policy_request::Policy::HostChange(change) => {
            verifier.host(&change.host, change.partition)?;
            m::Policy::HostChange(m::HostChange {
                host: change.host,
                partition: change.partition,
                min_delay_ms: change.min_delay_ms,
                block_for_ms: change.block_for_ms,
                paused: change.paused,
            })
        }
        pb::set_policy_request::Policy::CrawlPause(pause) => {
            if pause.crawl == 0 {
                return Err(Rejected("crawl is 0"));
            }
            m::Policy::CrawlPause(m::CrawlPause {
                crawl: pause.crawl,
                paused: pause.paused,
            })
        }
        pb::set_policy_request::Policy::ShardPause(pause) => m::Policy::ShardPause(m::ShardPause {
            paused: pause.paused,
        }),
    };
    Ok(m::SetPolicy {
        policy: Some(policy),
    })
}

fn crawl_from_wire(crawl: &pb::CrawlPolicy) -> Result<m::CrawlPolicy, Rejected> {
    if crawl.crawl == 0 {
        return Err(Rejected("crawl is 0"));
    }
    Ok(m::CrawlPolicy {
        crawl: crawl.crawl,
        min_delay_ms: crawl.min_delay_ms,
        crawl_delay_cap_ms: crawl.crawl_delay_cap_ms,
        response_time_factor_tenths: crawl.response_time_factor_tenths,
        response_time_delay_cap_ms: crawl.response_time_delay_cap_ms,
        fetch_timeout_ms: crawl.fetch_timeout_ms,
        back_off_base_ms: crawl.back_off_base_ms,
        back_off_cap_ms: crawl.back_off_cap_ms,
        max_attempts: crawl.max_attempts,
        max_depth: crawl.max_depth,
        max_queued_per_host: crawl.max_queued_per_host,
        max_queued_per_site: crawl.max_queued_per_site,
        max_hosts_per_site: crawl.max_hosts_per_site,
        max_redirect_hops: crawl.max_redirect_hops,
        host_budget_pages: crawl.host_budget_pages,
        budget_cycle_ms: crawl.budget_cycle_ms,
        revisit: crawl.revisit,
        revisit_min_ms: crawl.revisit_min_ms,
        revisit_max_ms: crawl.revisit_max_ms,
        robots_fresh_ms: crawl.robots_fresh_ms,
        paused: crawl.paused,
    })
}

/// What is set for a shard, as it is shown.
pub(crate) fn shard_settings(
    settings: ShardSettings,
    applied_index: u64,
) -> pb::ShardSettingsResponse {
    let crawl = |crawl: &CrawlRecord| pb::CrawlRecord {
        policy: Some(crawl_to_wire(&crawl.policy)),
        removed: crawl.removed,
        forget: crawl.forget,
    };
    pb::ShardSettingsResponse {
        paused: settings.paused,
        crawls: settings.crawls.iter().map(crawl).collect(),
        applied_index,
        dead_stores: settings.dead_stores,
    }
}

const fn crawl_to_wire(crawl: &m::CrawlPolicy) -> pb::CrawlPolicy {
    pb::CrawlPolicy {
        crawl: crawl.crawl,
        min_delay_ms: crawl.min_delay_ms,
        crawl_delay_cap_ms: crawl.crawl_delay_cap_ms,
        response_time_factor_tenths: crawl.response_time_factor_tenths,
        response_time_delay_cap_ms: crawl.response_time_delay_cap_ms,
        fetch_timeout_ms: crawl.fetch_timeout_ms,
        back_off_base_ms: crawl.back_off_base_ms,
        back_off_cap_ms: crawl.back_off_cap_ms,
        max_attempts: crawl.max_attempts,
        max_depth: crawl.max_depth,
        max_queued_per_host: crawl.max_queued_per_host,
        max_queued_per_site: crawl.max_queued_per_site,
        max_hosts_per_site: crawl.max_hosts_per_site,
        max_redirect_hops: crawl.max_redirect_hops,
        host_budget_pages: crawl.host_budget_pages,
        budget_cycle_ms: crawl.budget_cycle_ms,
        revisit: crawl.revisit,
        revisit_min_ms: crawl.revisit_min_ms,
        revisit_max_ms: crawl.revisit_max_ms,
        robots_fresh_ms: crawl.robots_fresh_ms,
        paused: crawl.paused,
    }
}
