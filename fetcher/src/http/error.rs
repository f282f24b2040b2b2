//! Why a fetch failed.

use crate::addresses::AddressError;
use crate::decode::DecodeError;
use crate::dns::DnsError;

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A setting is out of bounds.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// reqwest refused the settings.
    #[error("HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// Why a fetch has no usable response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL cannot be asked for.
    #[error("the URL cannot be requested")]
    Url,
    /// An override sends an https URL of an address elsewhere: its certificate could never match.
    #[error("an override cannot move an https URL whose host is an address")]
    Override,
    /// The address rule.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The name has no address.
    #[error(transparent)]
    Dns(#[from] DnsError),
    /// Less than a whole fetch timeout was left before the lease's deadline.
    #[error("too little is left of the lease")]
    OutOfTime,
    /// The lease's deadline passed before the request was written.
    #[error("the lease's deadline passed before the request was written")]
    Fenced,
    /// The memory for bodies is used up.
    #[error("no memory left for bodies")]
    Memory,
    /// Refused by the host's kernel.
    #[error("connection refused")]
    ConnectRefused,
    /// No connection in time.
    #[error("no connection in time")]
    ConnectTimeout,
    /// No route.
    #[error("host or network unreachable")]
    ConnectUnreachable,
    /// Not connected for another reason.
    #[error("no connection")]
    ConnectFailed,
    /// The certificate is not valid for the name, or not trusted.
    #[error("TLS certificate refused")]
    TlsCertificate,
    /// The handshake failed otherwise.
    #[error("TLS handshake failed")]
    TlsHandshake,
    /// No head of a response in time.
    #[error("no response in time")]
    FirstByteTimeout,
    /// The connection was reset.
    #[error("connection reset")]
    Reset,
    /// Closed before the head of a response was whole.
    #[error("closed before a response")]
    NoResponse,
    /// The head is too large.
    #[error("the response's headers are too large")]
    HeadersTooLarge,
    /// Not HTTP, or HTTP with a wrong length.
    #[error("the response breaks HTTP")]
    Protocol,
    /// Nothing came for too long.
    #[error("the body stalled")]
    IdleTimeout,
    /// The whole fetch took too long.
    #[error("the fetch took too long")]
    FetchTimeout,
    /// The body came too slowly.
    #[error("the body is too slow")]
    TooSlow,
    /// The body ended before its declared end.
    #[error("the body is incomplete")]
    IncompleteBody,
    /// A content coding.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The body grows too much when decoded.
    #[error("the compression ratio is over the limit")]
    Ratio,
    /// The body is over its cap, and a cut one is not wanted.
    #[error("the body is too large")]
    BodyTooLarge,
}

impl FetchError {
    /// Stable snake_case name.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Url => "invalid_url",
            Self::Override => "override_unsupported",
            Self::Address(AddressError::Private) => "private_address",
            Self::Address(AddressError::Mixed) => "mixed_addresses",
            Self::Address(AddressError::Null) => "null_address",
            Self::Dns(DnsError::NotFound) => "dns_not_found",
            Self::Dns(DnsError::Failed) => "dns_failure",
            Self::Dns(DnsError::Timeout) => "dns_timeout",
            Self::OutOfTime => "out_of_time",
            Self::Fenced => "fenced",
            Self::Memory => "memory_budget",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectUnreachable => "connect_unreachable",
            Self::ConnectFailed => "connect_failed",
            Self::TlsCertificate => "tls_certificate",
            Self::TlsHandshake => "tls_handshake",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::Reset => "connection_reset",
            Self::NoResponse => "no_response",
            Self::HeadersTooLarge => "headers_too_large",
            Self::Protocol => "protocol_error",
            Self::IdleTimeout => "idle_timeout",
            Self::FetchTimeout => "fetch_timeout",
            Self::TooSlow => "too_slow",
            Self::IncompleteBody => "incomplete_body",
            Self::Decode(DecodeError::Unsupported) => "unsupported_coding",
            Self::Decode(DecodeError::Damaged) => "damaged_coding",
            Self::Decode(DecodeError::Incomplete) => "incomplete_coding",
            Self::Ratio => "compression_ratio",
            Self::BodyTooLarge => "body_too_large",
        }
    }
}
