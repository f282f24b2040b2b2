//! What may be configured, with defaults and bounds. A file may set any field; one it does not know is an error.

use ipnet::IpNet;
use serde::Deserialize;

use crate::dns::Override;
use crate::limits;

/// A field outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fetcher setting {name} is {value}: {must}")]
pub struct ConfigError {
    /// The field.
    pub name: &'static str,
    /// What was given.
    pub value: String,
    /// What it must be.
    pub must: String,
}

/// What happens to a body at its cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Oversize {
    /// What fits is stored and marked as truncated.
    #[default]
    Truncate,
    /// The page is refused.
    Refuse,
}

/// The HTTP side: who we are, how long we wait, how much we take.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The product token of User-Agent; its leading letters, `-` and `_` are what robots.txt groups name.
    pub product: String,
    /// Appended to User-Agent in parentheses, so that a host's owner can find us: an address or a mailbox. May be empty.
    pub contact: String,
    /// Connection and TLS handshake, ms.
    pub connect_timeout_ms: u64,
    /// From the request to the end of the response's head, ms.
    pub first_byte_timeout_ms: u64,
    /// Between two pieces of a body, ms.
    pub idle_timeout_ms: u64,
    /// A whole fetch, ms; must be shorter than the lease and not longer than the crawl's `fetch_timeout_ms`.
    pub fetch_timeout_ms: u64,
    /// Average speed of a body below which it is given up, bytes a second; 0 = any speed will do.
    pub min_rate_bytes_per_s: u64,
    /// When the speed is first judged, ms after the response's head.
    pub min_rate_grace_ms: u64,
    /// Cap of a body as it travels, bytes.
    pub max_compressed_bytes: u64,
    /// Cap of a decoded body, bytes.
    pub max_decoded_bytes: u64,
    /// What happens at a cap.
    pub oversize: Oversize,
    /// Special ranges that may be connected to all the same.
    pub allow_net: Vec<IpNet>,
    /// Hosts connected to at a fixed address and port: `PATTERN=ADDR:PORT`.
    pub resolve: Vec<Override>,
    /// 401 and 403 for robots.txt close the host.
    pub robots_401_403_disallow: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            product: "Escapement/0.1".to_owned(),
            contact: String::new(),
            connect_timeout_ms: limits::DEFAULT_CONNECT_TIMEOUT_MS,
            first_byte_timeout_ms: limits::DEFAULT_FIRST_BYTE_TIMEOUT_MS,
            idle_timeout_ms: limits::DEFAULT_IDLE_TIMEOUT_MS,
            fetch_timeout_ms: limits::DEFAULT_FETCH_TIMEOUT_MS,
            min_rate_bytes_per_s: limits::DEFAULT_MIN_RATE_BYTES_PER_S,
            min_rate_grace_ms: limits::DEFAULT_MIN_RATE_GRACE_MS,
            max_compressed_bytes: limits::DEFAULT_MAX_COMPRESSED_BYTES,
            max_decoded_bytes: limits::DEFAULT_MAX_DECODED_BYTES,
            oversize: Oversize::Truncate,
            allow_net: Vec::new(),
            resolve: Vec::new(),
            robots_401_403_disallow: false,
        }
    }
}

impl HttpConfig {
    /// The User-Agent field: product, then the contact in parentheses.
    #[must_use]
    pub fn user_agent(&self) -> String {
        if self.contact.is_empty() {
            self.product.clone()
        } else {
            format!("{} (+{})", self.product, self.contact)
        }
    }

    /// Checks every bound.
    ///
    /// # Errors
    ///
    /// The first field outside of it.
    pub fn check(&self) -> Result<(), ConfigError> {
        let printable = |text: &str| {
            text.len() <= limits::MAX_AGENT_BYTES && text.bytes().all(|b| (0x20..0x7f).contains(&b))
        };
        if !self.product.starts_with(|c: char| c.is_ascii_alphabetic()) || !printable(&self.product)
        {
            return Err(wrong(
                "product",
                &self.product,
                "printable ASCII that starts with a letter, at most 256 bytes",
            ));
        }
        if !printable(&self.contact) || self.contact.contains(['(', ')']) {
            return Err(wrong(
                "contact",
                &self.contact,
                "printable ASCII without parentheses, at most 256 bytes",
            ));
        }
        let timeouts = [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("first_byte_timeout_ms", self.first_byte_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("fetch_timeout_ms", self.fetch_timeout_ms),
        ];
        for (name, value) in timeouts {
            within(name, value, limits::TIMEOUT_BOUNDS_MS)?;
        }
        within(
            "max_compressed_bytes",
            self.max_compressed_bytes,
            (1, limits::MAX_BODY_BYTES),
        )?;
        within(
            "max_decoded_bytes",
            self.max_decoded_bytes,
            (1, limits::MAX_BODY_BYTES),
        )
    }
}

/// The pool: how much at once, how leases are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FetcherConfig {
    /// The HTTP side.
    pub http: HttpConfig,
    /// Open fetches.
    pub open_fetches: usize,
    /// How long a lease lasts, ms.
    pub lease_ttl_ms: u64,
    /// How long a lease call waits for something ready, ms.
    pub poll_wait_ms: u64,
    /// Links offered from one page.
    pub max_links_a_page: usize,
    /// Acknowledged links remembered, so that known links seldom travel; 0 = none.
    pub known_links: usize,
    /// Bytes of all bodies in memory together.
    pub body_budget_bytes: u64,
    /// A stop ends open fetches after this, ms.
    pub shutdown_ms: u64,
}

impl Default for FetcherConfig {
    fn default() -> Self {
        Self {
            http: HttpConfig::default(),
            open_fetches: limits::DEFAULT_OPEN_FETCHES,
            lease_ttl_ms: limits::DEFAULT_LEASE_TTL_MS,
            poll_wait_ms: limits::DEFAULT_POLL_WAIT_MS,
            max_links_a_page: limits::MAX_LINKS_A_PAGE,
            known_links: limits::DEFAULT_KNOWN_LINKS,
            body_budget_bytes: limits::DEFAULT_BODY_BUDGET_BYTES,
            shutdown_ms: limits::DEFAULT_SHUTDOWN_MS,
        }
    }
}

impl FetcherConfig {
    /// Checks every bound, and that a whole fetch fits well into a lease.
    ///
    /// # Errors
    ///
    /// The first field outside of it.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.http.check()?;
        within(
            "open_fetches",
            self.open_fetches as u64,
            (1, limits::MAX_OPEN_FETCHES as u64),
        )?;
        within(
            "lease_ttl_ms",
            self.lease_ttl_ms,
            limits::LEASE_TTL_BOUNDS_MS,
        )?;
        within(
            "poll_wait_ms",
            self.poll_wait_ms,
            (0, limits::MAX_POLL_WAIT_MS),
        )?;
        within(
            "max_links_a_page",
            self.max_links_a_page as u64,
            (0, limits::MAX_LINKS_A_PAGE as u64),
        )?;
        within(
            "body_budget_bytes",
            self.body_budget_bytes,
            (self.http.max_decoded_bytes, u64::MAX),
        )?;
        let margin_ms = limits::DEADLINE_MARGIN_MS
            + self.lease_ttl_ms.div_ceil(limits::DEADLINE_MARGIN_DIVISOR);
        let usable_ms = self.lease_ttl_ms.saturating_sub(margin_ms);
        if self.http.fetch_timeout_ms > usable_ms {
            let must = format!(
                "a whole fetch ({} ms) and the margin ({margin_ms} ms) must fit",
                self.http.fetch_timeout_ms
            );
            return Err(wrong("lease_ttl_ms", &self.lease_ttl_ms.to_string(), &must));
        }
        Ok(())
    }
}

fn within(name: &'static str, value: u64, (least, most): (u64, u64)) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(wrong(
        name,
        &value.to_string(),
        &format!("must be from {least} to {most}"),
    ))
}

fn wrong(name: &'static str, value: &str, must: &str) -> ConfigError {
    ConfigError {
        name,
        value: value.to_owned(),
        must: must.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn defaults_pass() {
        assert_eq!(FetcherConfig::default().check(), Ok(()));
        assert_eq!(HttpConfig::default().user_agent(), "Escapement/0.1");
        let known = HttpConfig {
            contact: "ops@crawl.example".into(),
            ..Default::default()
        };
        assert_eq!(known.user_agent(), "Escapement/0.1 (+ops@crawl.example)");
    }

    #[test]
    fn files_set_fields_and_unknown_ones_are_named() {
        let json = r#"{"open_fetches": 7, "http": {"allow_net": ["127.0.0.0/8"], "resolve": ["*=127.0.0.1:80"], "oversize": "refuse"}}"#;
        let config: FetcherConfig = serde_json::from_str(json).unwrap();
        assert_eq!(
            (config.open_fetches, config.http.oversize),
            (7, Oversize::Refuse)
        );
        assert_eq!(
            (config.http.allow_net.len(), config.http.resolve.len()),
            (1, 1)
        );
        for wrong in [
            r#"{"open_fetch": 7}"#,
            r#"{"http": {"retries": 3}}"#,
            r#"{"http": {"resolve": ["*=nowhere"]}}"#,
        ] {
            assert!(
                serde_json::from_str::<FetcherConfig>(wrong).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn each_wrong_field_is_named() {
        let name = |change: fn(&mut FetcherConfig)| {
            let mut config = FetcherConfig::default();
            change(&mut config);
            config.check().unwrap_err().name
        };
        assert_eq!(name(|c| c.open_fetches = 0), "open_fetches");
        assert_eq!(name(|c| c.lease_ttl_ms = 1), "lease_ttl_ms");
        assert_eq!(name(|c| c.lease_ttl_ms = 30_000), "lease_ttl_ms");
        assert_eq!(name(|c| c.http.product = "1".into()), "product");
        assert_eq!(name(|c| c.http.contact = "a\r\nb".into()), "contact");
        assert_eq!(name(|c| c.http.idle_timeout_ms = 0), "idle_timeout_ms");
        assert_eq!(name(|c| c.http.max_decoded_bytes = 0), "max_decoded_bytes");
        assert_eq!(name(|c| c.max_links_a_page = 1_001), "max_links_a_page");
        assert_eq!(name(|c| c.body_budget_bytes = 1), "body_budget_bytes");
    }
}
