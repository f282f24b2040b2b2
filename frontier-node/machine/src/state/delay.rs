//! The delay between two contacts of a host, and how long it is left alone after failures.

use super::{Crawl, Host, Policy};
use crate::hash;
use std::collections::BTreeMap;

/// The largest of: each queued crawl's minimum; the robots crawl-delay, capped by each crawl; a multiple of the last response
/// time, capped; the host's override. `also` is a crawl that counts though nothing of it is queued (its lease just ended).
pub(crate) fn delay_ms(host: &Host, crawls: &BTreeMap<u32, Crawl>, also: Option<u32>) -> u64 {
    let queued = host.lanes.iter().map(|lane| lane.crawl).chain(also);
    let policies = queued
        .filter_map(|crawl| crawls.get(&crawl))
        .map(|crawl| &crawl.policy);
    longest_ms(host, policies)
        .unwrap_or_else(|| term_ms(host, &Policy::fallback()))
        .max(host.min_delay_ms())
}

/// The longest delay that any crawl which may still offer URLs could ask of a host, an errand's included.
pub(crate) fn longest_delay_ms(host: &Host, crawls: &BTreeMap<u32, Crawl>) -> u64 {
    let policies = crawls
        .values()
        .filter(|crawl| !crawl.removed)
        .map(|crawl| &crawl.policy);
    longest_ms(host, policies.chain([&Policy::fallback()]))
        .unwrap_or(0)
        .max(host.min_delay_ms())
}

fn longest_ms<'a>(host: &Host, policies: impl Iterator<Item = &'a Policy>) -> Option<u64> {
    policies.map(|policy| term_ms(host, policy)).max()
}

/// What one policy asks of a host. The crawl-delay is the largest any authority of the host asks for, for the clock is the
/// host's.
fn term_ms(host: &Host, policy: &Policy) -> u64 {
    let asked_ms = host
        .authorities
        .iter()
        .map(|known| u64::from(known.robots.crawl_delay_ms))
        .max()
        .unwrap_or(0);
    let response_ms = (u64::from(host.response_time_ms) * policy.response_time_factor_tenths) / 10;
    policy
        .min_delay_ms
        .max(asked_ms.min(policy.crawl_delay_cap_ms))
        .max(response_ms.min(policy.response_time_delay_cap_ms))
}

/// A host asked for time or failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// What it asked for; 0 = nothing.
    pub retry_after_ms: u64,
    /// A request was written and nothing came back.
    pub no_response: bool,
}

/// How long a host that failed `failures` times in a row (this one included) is left alone: at least what it asked for (up to the
/// cap), at least an exponential with jitter, and at least a fetch timeout when a request may still be on its way.
pub(crate) fn back_off_ms(host: &Host, policy: &Policy, failure: Failure) -> u64 {
    let exponent = u32::from(host.failures).saturating_sub(1).min(40);
    let exponential_ms = policy
        .back_off_base_ms
        .saturating_mul(1 << exponent)
        .min(policy.back_off_cap_ms);
    let jittered_ms = hash::jitter_ms(
        exponential_ms,
        policy.back_off_cap_ms,
        host.hash(u64::from(host.failures)),
    );
    let asked_ms = failure.retry_after_ms.min(policy.back_off_cap_ms);
    let silent_ms = if failure.no_response {
        policy.fetch_timeout_ms
    } else {
        0
    };
    jittered_ms.max(asked_ms).max(silent_ms)
}
