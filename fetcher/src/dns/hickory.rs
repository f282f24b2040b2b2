//! Answers from name servers.

use std::net::SocketAddr;
use std::time::Instant;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as NetDnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::Name;

use super::{Answer, DnsError, NameSource};
use crate::limits;

/// The name servers of this machine, or given ones.
pub struct HickorySource(TokioResolver);

impl HickorySource {
    /// As the system is configured, `/etc/hosts` included.
    ///
    /// # Errors
    ///
    /// The configuration cannot be read.
    pub fn system() -> Result<Self, NetError> {
        let mut builder = TokioResolver::builder_tokio()?;
        tune(builder.options_mut());
        Ok(Self(builder.build()?))
    }

    /// Only these servers, over UDP and TCP.
    ///
    /// # Errors
    ///
    /// The resolver cannot be made of them.
    pub fn with_servers(servers: &[SocketAddr]) -> Result<Self, NetError> {
        let configs = servers.iter().map(|server| {
            let mut config = NameServerConfig::udp_and_tcp(server.ip());
            config
                .connections
                .iter_mut()
                .for_each(|connection: &mut ConnectionConfig| connection.port = server.port());
            config
        });
        let config = ResolverConfig::from_name_servers(configs.collect());
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        tune(builder.options_mut());
        Ok(Self(builder.build()?))
    }
}

fn tune(options: &mut ResolverOpts) {
    // Both families always: a name with a public and a private address must show both (case I5).
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.max_active_requests = 4 * limits::DEFAULT_DNS_LOOKUPS;
    // The cache above this one has the rules.
    options.cache_size = 0;
}

#[async_trait::async_trait]
impl NameSource for HickorySource {
    async fn lookup(&self, name: &str) -> Result<Answer, DnsError> {
        // The dot makes it fully qualified: no search list is tried.
        let name = Name::from_ascii(format!("{name}.")).map_err(|_| DnsError::NotFound)?;
        let found = self
            .0
            .lookup_ip(name)
            .await
            .map_err(|error| reason(&error))?;
        let left = found
            .valid_until()
            .saturating_duration_since(Instant::now());
        Ok(Answer {
            addresses: found.iter().collect(),
            ttl_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Only the servers' own "no such name" and "no such record" are that; every other failure is a failure to ask.
fn reason(error: &NetError) -> DnsError {
    match error {
        NetError::Dns(NetDnsError::NoRecordsFound(none))
            if matches!(
                none.response_code,
                ResponseCode::NXDomain | ResponseCode::NoError
            ) =>
        {
            DnsError::NotFound
        }
        NetError::Timeout => DnsError::Timeout,
        _ => DnsError::Failed,
    }
}
