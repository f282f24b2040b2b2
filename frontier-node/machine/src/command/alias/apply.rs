//! Applying `alias`, and where a URL of an aliased host belongs.

use super::{Alias, AliasReply};
use crate::{
    authority::{self, Authority},
    error::MachineError,
    limits,
    state::{Host, Other},
    step::Step,
};

impl Step<'_> {
    pub(crate) fn alias(&mut self, alias: &Alias) -> Result<AliasReply, MachineError> {
        let refused = self.alias_refusal(alias);
        if !refused.is_empty() {
            return Ok(AliasReply {
                refused,
                ..AliasReply::default()
            });
        }
        let found = self.m.hosts.find(alias.partition, &alias.host);
        if found.is_none() && alias.to.is_empty() {
            return Ok(AliasReply::default());
        }
        let Some(id) = found.or_else(|| self.new_host(alias.partition, &alias.host)) else {
            return Ok(AliasReply {
                refused: "too_many_hosts_of_that_hash",
                ..AliasReply::default()
            });
        };
        let other = (!alias.to.is_empty()).then(|| Other {
            host: alias.to.as_str().into(),
            partition: alias.to_partition,
        });
        let now_ms = self.now_ms;
        self.m.change(id, |host, _| {
            host.rest_mut().alias = other;
            // What waited for its new name waits for its clock now.
            host.since_ms = host.since_ms.max(now_ms);
        })?;
        let host = self.m.hosts.host(id)?;
        Ok(AliasReply {
            waiting: u64::from(host.queued()) + u64::from(host.scheduled),
            refused: "",
        })
    }

    fn alias_refusal(&self, alias: &Alias) -> &'static str {
        let target = self.m.hosts.find(alias.to_partition, &alias.to);
        let target = target.and_then(|id| self.m.hosts.get(id));
        if !self.m.holds(alias.partition) {
            "wrong_shard"
        } else if !authority::is_host(&alias.host) {
            "host_name"
        } else if alias.to.is_empty() {
            ""
        } else if !authority::is_host(&alias.to) {
            "target_name"
        } else if alias.to == alias.host {
            "alias_of_itself"
        } else if target.is_some_and(|target| target.alias().is_some()) {
            "target_is_an_alias"
        } else {
            ""
        }
    }
}

/// The URL at the other host; `None` where it would be longer than a URL may be.
pub(crate) fn moved(host: &Host, url: &str) -> Option<(String, u64)> {
    let other = host.alias()?;
    let (name, authority) = Authority::of(url)?;
    let rest = url.strip_prefix(authority.origin(name).as_str())?;
    let moved = authority.origin(&other.host) + rest;
    (moved.len() <= limits::URL_SIZE_BYTES).then_some((moved, other.partition))
}
