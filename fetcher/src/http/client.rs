//! Opens a request and reads its head.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Version};
use rustls::pki_types::CertificateDer;
use tokio::time::Instant;
use urlkey::CanonicalUrl;

use super::body::{Body, BodyCaps};
use super::connect::{Connecting, Fence, Pinned, scope};
use super::error::{BuildError, FetchError};
use super::target::{Target, target};
use super::{classify, tls};
use crate::addresses::AddressGate;
use crate::config::HttpConfig;
use crate::contact::ContactTrace;
use crate::deadline::{BootInstant, Deadline};
use crate::decode::{ACCEPTED, Decoder};
use crate::dns::{Dns, Overrides};
use crate::limits;

/// The client of one fetcher process.
pub struct HttpClient {
    config: HttpConfig,
    client: Client,
    /// For overrides that need a `Host` field of their own: HTTP/2 would send the URL's authority instead.
    http1: Client,
    dns: Dns,
    gate: AddressGate,
    overrides: Overrides,
}

/// What to ask for.
pub struct Request<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// Further fields, such as the validators of a conditional request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Until when the host may be contacted.
    pub deadline: Deadline,
    /// Caps of the body.
    pub caps: BodyCaps,
    /// Told of everything that touches the host.
    pub trace: &'a ContactTrace,
}

/// The head of a response.
#[derive(Debug, Clone)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// All fields; those of one name in the order received.
    pub headers: HeaderMap,
    /// Reason phrase as received, or the usual one.
    pub reason: String,
    /// ALPN name of the protocol spoken.
    pub protocol: &'static str,
    /// The address that answered.
    pub peer: Option<std::net::SocketAddr>,
}

/// A response whose body waits to be read.
pub struct Opened {
    /// Its head.
    pub head: Head,
    /// Its body. Dropping it closes the connection.
    pub body: Body,
}

impl HttpClient {
    /// With the system's root certificates and `extra_roots`.
    ///
    /// # Errors
    ///
    /// A setting out of bounds, or TLS that cannot be set up.
    pub fn new(
        config: HttpConfig,
        dns: Dns,
        extra_roots: &[CertificateDer<'static>],
    ) -> Result<Self, BuildError> {
        config.check()?;
        Ok(Self {
            client: build(&config, extra_roots, false)?,
            http1: build(&config, extra_roots, true)?,
            gate: AddressGate::new(config.allow_net.clone()),
            overrides: Overrides::new(config.resolve.clone()),
            dns,
            config,
        })
    }

    /// The settings in use.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.config
    }

    /// The longest a fetch takes.
    #[must_use]
    pub fn fetch_timeout(&self) -> Duration {
        Duration::from_millis(self.config.fetch_timeout_ms)
    }

    /// Whether a literal host may be contacted at all; names are judged when they are.
    ///
    /// # Errors
    ///
    /// The address rule.
    pub fn check_literal(&self, url: &CanonicalUrl) -> Result<(), FetchError> {
        let host = url.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        match (self.overrides.find(host), bare.parse()) {
            (Some(to), _) => Ok(self.gate.check(to.ip())?),
            (None, Ok(address)) => Ok(self.gate.check(address)?),
            (None, Err(_)) => Ok(()),
        }
    }

    /// Sends the request and waits for the head of its response.
    ///
    /// # Errors
    ///
    /// Why there is none; `trace` says whether the host was touched.
    pub async fn open(&self, request: Request<'_>) -> Result<Opened, FetchError> {
        if !request
            .deadline
            .permits_start(BootInstant::now(), self.fetch_timeout())
        {
            return Err(FetchError::OutOfTime);
        }
        let trace = request.trace.clone();
        let until = Instant::now() + self.fetch_timeout();
        let opened = tokio::time::timeout_at(until, self.open_until(request, until)).await;
        let opened = opened.unwrap_or(Err(FetchError::FetchTimeout));
        if opened.is_err() {
            trace.end();
        }
        opened
    }

    async fn open_until(&self, request: Request<'_>, until: Instant) -> Result<Opened, FetchError> {
        let target = target(request.url, &self.dns, &self.gate, &self.overrides).await?;
        let client = if target.host.is_some() {
            &self.http1
        } else {
            &self.client
        };
        let built = self.build_request(client, &target, request.headers)?;
        let connecting = Arc::new(Connecting {
            addresses: target.addresses,
            deadline: request.deadline,
            trace: request.trace.clone(),
            connected: tokio::sync::Notify::new(),
        });
        let first_byte = async {
            connecting.connected.notified().await;
            tokio::time::sleep(Duration::from_millis(self.config.first_byte_timeout_ms)).await;
        };
        let response = tokio::select! {
            response = scope(Arc::clone(&connecting), client.execute(built)) => response,
            () = first_byte => return Err(FetchError::FirstByteTimeout),
        };
        let response = response.map_err(|error| {
            let connected = request.trace.get().connected.is_some();
            tracing::debug!(%error, cause = ?std::error::Error::source(&error), "no response");
            answered_after_all(classify::of_request(&error, connected), request.trace)
        })?;
        request.trace.respond();
        let head = head(&response)?;
        let decoder = Decoder::for_response(&head.headers)?;
        let body = Body::new(
            response,
            decoder,
            request.caps,
            &self.config,
            request.trace.clone(),
            until,
        );
        Ok(Opened { head, body })
    }

    fn build_request(
        &self,
        client: &Client,
        target: &Target,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Result<reqwest::Request, FetchError> {
        let mut builder = client.get(target.url.clone());
        if let Some(host) = &target.host {
            builder = builder.header(HOST, host.clone());
        }
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        builder.build().map_err(|_| FetchError::Url)
    }
}

/// Bytes that are no HTTP are a response all the same: the request has arrived.
fn answered_after_all(error: FetchError, trace: &ContactTrace) -> FetchError {
    if matches!(error, FetchError::HeadersTooLarge | FetchError::Protocol)
        && trace.get().connected.is_some()
    {
        trace.respond();
    }
    error
}

fn head(response: &reqwest::Response) -> Result<Head, FetchError> {
    let headers = response.headers().clone();
    // A field costs its name, its value, a colon, a space and a line end.
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if size > limits::MAX_HEADER_BYTES {
        return Err(FetchError::HeadersTooLarge);
    }
    let status = response.status();
    let phrase = response.extensions().get::<hyper::ext::ReasonPhrase>();
    let phrase = phrase.map(|phrase| String::from_utf8_lossy(phrase.as_bytes()).into_owned());
    let protocol = match response.version() {
        Version::HTTP_10 => "http/1.0",
        Version::HTTP_2 => "h2",
        _ => "http/1.1",
    };
    Ok(Head {
        status,
        headers,
        reason: phrase.unwrap_or_else(|| status.canonical_reason().unwrap_or_default().to_owned()),
        protocol,
        peer: response.remote_addr(),
    })
}

fn build(
    config: &HttpConfig,
    extra_roots: &[CertificateDer<'static>],
    http1_only: bool,
) -> Result<Client, BuildError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
    let mut builder = Client::builder()
        .user_agent(config.user_agent())
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .dns_resolver(Pinned)
        .connector_layer(Fence)
        .connect_timeout(Duration::from_millis(config.connect_timeout_ms))
        .tcp_user_timeout(Duration::from_millis(config.fetch_timeout_ms))
        .http1_max_headers(limits::MAX_HEADER_FIELDS)
        .http2_max_header_list_size(u32::try_from(limits::MAX_HEADER_BYTES).unwrap_or(u32::MAX))
        .http2_initial_stream_window_size(limits::H2_STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(limits::H2_CONNECTION_WINDOW_BYTES)
        .tls_backend_preconfigured(tls::config(extra_roots, http1_only)?);
    if http1_only {
        builder = builder.http1_only();
    }
    Ok(builder.build()?)
}
