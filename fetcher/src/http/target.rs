//! Where a URL is connected to. Literals are checked here, since reqwest asks no resolver for them; names are resolved here, vetted
//! together, and pinned.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use reqwest::header::HeaderValue;
use urlkey::CanonicalUrl;

use super::error::FetchError;
use crate::addresses::AddressGate;
use crate::dns::{Dns, Overrides};

/// The name that stands for a literal which an override moves, so that the resolver is asked. Reserved (RFC 2606), never sent.
const MOVED_LITERAL: &str = "moved.invalid";

/// A vetted destination.
#[derive(Debug)]
pub(super) struct Target {
    /// What reqwest is given: the URL, or with an override one that leads to the right port.
    pub(super) url: Url,
    /// The `Host` field, when `url` would not give the right one.
    pub(super) host: Option<HeaderValue>,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Resolves and vets.
pub(super) async fn target(
    url: &CanonicalUrl,
    dns: &Dns,
    gate: &AddressGate,
    overrides: &Overrides,
) -> Result<Target, FetchError> {
    let parsed = Url::parse(url.as_str()).map_err(|_| FetchError::Url)?;
    let literal = literal(url.host());
    if let Some(to) = overrides.find(url.host()) {
        gate.check(to.ip())?;
        return moved(url, parsed, literal.is_some(), to);
    }
    let addresses = match literal {
        Some(address) => {
            gate.check(address)?;
            vec![address]
        }
        None => gate.vet(&dns.resolve(url.host()).await?)?,
    };
    let port = url.effective_port();
    let addresses = addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, port))
        .collect();
    Ok(Target {
        url: parsed,
        host: None,
        addresses,
    })
}

/// An override: `Host`, the name in TLS and the scheme stay, only the place changes. A port written in a URL wins over the
/// resolver's in reqwest, so such a URL gets the override's port and its own `Host` field.
fn moved(
    url: &CanonicalUrl,
    mut parsed: Url,
    is_literal: bool,
    to: SocketAddr,
) -> Result<Target, FetchError> {
    let mut host = None;
    if is_literal || url.port().is_some() {
        host = Some(HeaderValue::from_str(url.authority()).map_err(|_| FetchError::Url)?);
    }
    if is_literal {
        if url.scheme() == "https" {
            return Err(FetchError::Override);
        }
        parsed
            .set_host(Some(MOVED_LITERAL))
            .map_err(|_| FetchError::Url)?;
    }
    if host.is_some() {
        parsed
            .set_port(Some(to.port()))
            .map_err(|()| FetchError::Url)?;
    }
    Ok(Target {
        url: parsed,
        host,
        addresses: vec![to],
    })
}

/// The address, if a canonical host is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host)
        .parse()
        .ok()
}
