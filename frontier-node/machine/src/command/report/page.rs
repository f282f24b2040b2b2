//! The end of a page lease.

use super::{
    Contact, PageCode, PageOutcome,
    apply::touch,
    conclude::{Next, attempt},
};
use crate::{
    command::lease::LeaseKey,
    counters::Counter,
    error::MachineError,
    hash,
    keys::{lease::LeaseRow, url::UrlRow},
    limits,
    state::{
        Policy,
        delay::{self, Failure},
    },
    step::Step,
};

/// Reason of a 304 that nobody asked for.
const UNEXPECTED: &str = "unexpected_not_modified";

impl Step<'_> {
    pub(super) fn close_page(
        &mut self,
        id: u64,
        key: LeaseKey,
        lease: &LeaseRow,
        contact: Option<Contact>,
        page: &PageOutcome,
    ) -> Result<(), MachineError> {
        let policy = self.m.policy(lease.crawl);
        let mut url = self.leased_url(key, lease)?;
        self.move_host(id, lease, contact, page.code(), &policy)?;
        let host_dns_failures = self.m.hosts.host(id)?.dns_failures;
        (url.closed_token, url.closed_requeued) = (lease.token, false);
        let next = match page.code() {
            PageCode::NotModified if !url.has_validators() => {
                self.unexpected_not_modified(&mut url, page, &policy)
            }
            PageCode::Stored if self.m.is_lost(&page.stores) => {
                self.m.count(Counter::LostStoreReports);
                Next::Requeue {
                    due_ms: self.now_ms,
                }
            }
            PageCode::Stored | PageCode::NotModified | PageCode::Redirect | PageCode::HttpError => {
                self.answered(key, &mut url, page, &policy)
            }
            PageCode::HttpBusy | PageCode::NetworkError => {
                note(&mut url, page);
                attempt(&mut url, policy.max_attempts).unwrap_or(Next::Requeue {
                    due_ms: self.now_ms,
                })
            }
            PageCode::DnsNotFound => {
                note(&mut url, page);
                let known_dead = u32::from(host_dns_failures) >= limits::DNS_ATTEMPTS;
                let most = if known_dead {
                    1
                } else {
                    limits::DNS_ATTEMPTS.min(policy.max_attempts)
                };
                let next = attempt(&mut url, most).unwrap_or(Next::Requeue {
                    due_ms: self.now_ms,
                });
                if next == Next::Refused {
                    url.last_reason = "dns_not_found".into();
                }
                next
            }
            PageCode::Disallowed | PageCode::Refused => {
                note(&mut url, page);
                if url.last_reason.is_empty() {
                    url.last_reason = if page.code() == PageCode::Disallowed {
                        "disallowed"
                    } else {
                        "refused"
                    }
                    .into();
                }
                Next::Refused
            }
            PageCode::Requeue => Next::Requeue {
                due_ms: self.now_ms,
            },
        };
        self.count_page(page.code());
        self.conclude_page(id, key, lease, url, next)
    }

    /// The host's clock and back-off.
    fn move_host(
        &mut self,
        id: u64,
        lease: &LeaseRow,
        contact: Option<Contact>,
        code: PageCode,
        policy: &Policy,
    ) -> Result<(), MachineError> {
        let now_ms = self.now_ms;
        let failed = matches!(
            code,
            PageCode::HttpBusy | PageCode::NetworkError | PageCode::DnsNotFound
        );
        let began = self.m.change(id, |host, crawls| {
            host.in_flight = false;
            let unanswered = touch(host, contact, lease.granted_ms, now_ms);
            host.delay_ms = delay::delay_ms(host, crawls, Some(lease.crawl));
            host.dns_failures = if code == PageCode::DnsNotFound {
                host.dns_failures.saturating_add(1)
            } else {
                0
            };
            let retry_after_ms = contact.map_or(0, |contact| contact.retry_after_ms);
            if failed {
                host.failures = host.failures.saturating_add(1);
                let wait_ms = delay::back_off_ms(
                    host,
                    policy,
                    Failure {
                        retry_after_ms,
                        no_response: unanswered,
                    },
                );
                host.back_off_until_ms = host.back_off_until_ms.max(now_ms.saturating_add(wait_ms));
            } else if matches!(
                code,
                PageCode::Stored | PageCode::NotModified | PageCode::Redirect | PageCode::HttpError
            ) {
                host.failures = 0;
            }
            if !failed {
                // A host may ask for time with any answer; without any answer at all a request may still be on its way.
                let silent_ms = if unanswered {
                    policy.fetch_timeout_ms
                } else {
                    0
                };
                let wait_ms = retry_after_ms.min(policy.back_off_cap_ms).max(silent_ms);
                if wait_ms > 0 {
                    host.back_off_until_ms =
                        host.back_off_until_ms.max(now_ms.saturating_add(wait_ms));
                }
            }
            failed && host.failures == 1
        })?;
        if began {
            self.m.count(Counter::BackOffs);
        }
        Ok(())
    }

    /// The URL had an answer: its record, and when to come again.
    fn answered(
        &mut self,
        key: LeaseKey,
        url: &mut UrlRow,
        page: &PageOutcome,
        policy: &Policy,
    ) -> Next {
        let code = page.code();
        let changed = match code {
            PageCode::Stored if url.digest.is_empty() => url.lost_digest != page.digest,
            PageCode::Stored => url.digest != page.digest,
            PageCode::NotModified => false,
            _ => {
                url.last_code != page.code
                    || url.status != page.status
                    || url.redirect_target != page.redirect_target
            }
        };
        if url.visits > 0 {
            let elapsed_ms = self.wall_ms.saturating_sub(url.fetched_unix_ms);
            url.watch
                .get_or_insert_default()
                .observe(elapsed_ms, changed);
            url.changes += u64::from(changed);
            if changed {
                self.m.count(Counter::PageChanged);
            }
        }
        url.visits += 1;
        url.attempts = 0;
        url.fetched_unix_ms = self.wall_ms;
        // A 304 keeps everything that the last answer said.
        if code == PageCode::Stored {
            self.take_content(url, page);
        }
        note(url, page);
        let had_content = !url.digest.is_empty() || code == PageCode::Redirect;
        if !policy.revisit || !had_content {
            return Next::Done;
        }
        let interval_ms = url
            .watch
            .unwrap_or_default()
            .interval_ms(policy.revisit_min_ms, policy.revisit_max_ms);
        // Pages found together do not come due together.
        let jitter = hash::mix(key.fingerprint ^ hash::mix(url.visits));
        let jittered_ms =
            hash::jitter_ms(interval_ms, policy.revisit_max_ms, jitter).max(policy.revisit_min_ms);
        Next::Visit {
            due_unix_ms: self.wall_ms.saturating_add(jittered_ms),
        }
    }

    fn take_content(&mut self, url: &mut UrlRow, page: &PageOutcome) {
        url.digest.clone_from(&page.digest);
        url.lost_digest.clear();
        url.payload_size_bytes = page.payload_size_bytes;
        url.truncated = page.truncated;
        url.stores = page.stores.iter().copied().take(limits::STORES).collect();
        for (stored, given) in [
            (&mut url.etag, &page.etag),
            (&mut url.last_modified, &page.last_modified),
        ] {
            if given.len() <= limits::VALIDATOR_SIZE_BYTES {
                stored.clone_from(given);
            } else {
                // A cut validator would never match; the page is fetched whole next time.
                stored.clear();
                self.m.count(Counter::ValidatorDropped);
            }
        }
    }

    /// A 304 to an unconditional request is a broken answer: tried once more, then final.
    fn unexpected_not_modified(
        &mut self,
        url: &mut UrlRow,
        page: &PageOutcome,
        policy: &Policy,
    ) -> Next {
        self.m.count(Counter::UnexpectedNotModified);
        let again = url.last_reason != UNEXPECTED;
        note(url, page);
        url.last_reason = UNEXPECTED.into();
        if again {
            return attempt(url, policy.max_attempts).unwrap_or(Next::Requeue {
                due_ms: self.now_ms,
            });
        }
        (url.attempts, url.fetched_unix_ms) = (0, self.wall_ms);
        url.visits += 1;
        Next::Done
    }

    fn count_page(&mut self, code: PageCode) {
        self.m.count(match code {
            PageCode::Stored => Counter::PageStored,
            PageCode::NotModified => Counter::PageNotModified,
            PageCode::Redirect => Counter::PageRedirect,
            PageCode::HttpError => Counter::PageHttpError,
            PageCode::HttpBusy => Counter::PageHttpBusy,
            PageCode::NetworkError => Counter::PageNetworkError,
            PageCode::Disallowed => Counter::PageDisallowed,
            PageCode::Refused => Counter::PageRefused,
            PageCode::DnsNotFound => Counter::PageDnsNotFound,
            PageCode::Requeue => Counter::PageRequeue,
        });
    }
}

/// How the last attempt ended.
fn note(url: &mut UrlRow, page: &PageOutcome) {
    url.last_code = page.code;
    url.status = page.status;
    url.last_reason = cut(&page.reason).into();
    url.redirect_target.clear();
    if page.redirect_target.len() <= limits::URL_SIZE_BYTES {
        url.redirect_target.clone_from(&page.redirect_target);
    }
}

/// A reason within its limit, cut at a character.
pub(super) fn cut(reason: &str) -> &str {
    let end = (0..=limits::REASON_SIZE_BYTES.min(reason.len()))
        .rev()
        .find(|end| reason.is_char_boundary(*end));
    reason.get(..end.unwrap_or(0)).unwrap_or("")
}
