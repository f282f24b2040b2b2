//! One page lease's life, top to bottom: time, robots, fetch, store, links, and what is said of it.
//!
//! Every step may be repeated. The order is the promise: a page is durable before its links go out, and its links are
//! acknowledged (or travel with the report) before the report closes the lease.

use std::time::Duration;

use page_store::{Capture, Truncated, UnmodifiedCapture};
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;
use urlkey::CanonicalUrl;
use urlkey::limits::HARD_MAX_URL_BYTES;

use crate::contact::ContactTrace;
use crate::context::Context;
use crate::held::Held;
use crate::http::{Body, FetchError, Head, Opened, Request};
use crate::limits::RULES_PAUSE_MS;
use crate::outcome::{End, failure_outcome, is_busy, page_outcome, status_outcome};
use crate::pages::StoreError;
use crate::reading::{Read, read, unix_ms_now};
use crate::retry_after::retry_after_ms;
use crate::robots_cache::RulesError;
use crate::{conditional, outgoing, redirect};

/// One page being fetched.
pub(crate) struct Page<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) work: &'a pb::PageWork,
    pub(crate) url: &'a CanonicalUrl,
}

/// The whole cycle.
pub(crate) async fn page(
    ctx: &Context,
    held: &Held,
    work: &pb::PageWork,
    trace: &ContactTrace,
) -> End {
    let Ok(url) = CanonicalUrl::verify(&work.url, HARD_MAX_URL_BYTES) else {
        return End::page(page_outcome(Code::Refused, 0, "invalid_url"), Vec::new());
    };
    let place = (held.shard, held.key.partition);
    match ctx
        .robots
        .allows(
            &*ctx.frontier,
            place,
            work.robots.as_ref(),
            url.path_and_query(),
        )
        .await
    {
        Ok(true) => {}
        Ok(false) => return End::page(page_outcome(Code::Disallowed, 0, "robots_txt"), Vec::new()),
        Err(error) => {
            tracing::debug!(%error, "page given back");
            if error == RulesError::Missing {
                ctx.metrics.robots_missing.increment();
            }
            tokio::time::sleep(Duration::from_millis(RULES_PAUSE_MS)).await;
            return End::Release;
        }
    }
    let page = Page {
        ctx,
        work,
        url: &url,
    };
    let condition = page.condition();
    let is_conditional = !condition.is_empty();
    let request = Request {
        url: &url,
        headers: condition,
        deadline: held.deadline,
        caps: ctx.page_caps(),
        trace,
    };
    match ctx.open(request).await {
        Ok(opened) => page.answer(opened, is_conditional, trace).await,
        Err(FetchError::OutOfTime) => {
            ctx.metrics.out_of_time.increment();
            End::Release
        }
        Err(error) => End::page(failure_outcome(error, 0), Vec::new()),
    }
}

impl Page<'_> {
    /// Validators go out only for a payload that a store holds.
    fn condition(&self) -> Vec<(reqwest::header::HeaderName, reqwest::header::HeaderValue)> {
        match &self.work.validators {
            Some(validators) if !self.work.digest.is_empty() => conditional::condition(validators),
            _ => Vec::new(),
        }
    }

    async fn answer(&self, opened: Opened, is_conditional: bool, trace: &ContactTrace) -> End {
        let Opened { head, body } = opened;
        if is_busy(head.status) {
            trace.retry_after(retry_after_ms(&head.headers).unwrap_or(0));
        }
        match head.status.as_u16() {
            304 if is_conditional => self.not_modified(&head).await,
            // To a request without validators that is no answer (case G4): nothing is stored, it comes again.
            304 => End::page(
                page_outcome(Code::NetworkError, 304, "unexpected_not_modified"),
                Vec::new(),
            ),
            _ if redirect::is_redirect(head.status) => self.redirected(&head).await,
            204 | 205 => End::page(
                page_outcome(Code::HttpError, head.status.as_u16(), "no_content"),
                Vec::new(),
            ),
            // A part nobody asked for.
            206 => End::page(
                page_outcome(Code::HttpError, 206, "unexpected_part"),
                Vec::new(),
            ),
            200..=299 => self.content(head, body).await,
            _ => End::page(status_outcome(head.status), Vec::new()),
        }
    }

    /// The target is a candidate like any other link, if it belongs to the crawl.
    async fn redirected(&self, head: &Head) -> End {
        let status = head.status.as_u16();
        let rules = self.ctx.crawls.of(self.work.crawl);
        let target = match redirect::target(self.url, &head.headers, &rules.canonicalizer) {
            Ok(target) => target,
            Err(error) => {
                return End::page(
                    page_outcome(Code::HttpError, status, error.reason()),
                    Vec::new(),
                );
            }
        };
        let mut outcome = page_outcome(Code::Redirect, status, "");
        outcome.redirect_target = target.as_str().to_owned();
        if !self.ctx.crawls.follows(self.work.crawl, self.url, &target) {
            outcome.reason = "out_of_scope".to_owned();
            return End::page(outcome, Vec::new());
        }
        let (refused, undelivered) = outgoing::offer_redirect(self, target).await;
        outcome.reason = refused;
        End::page(outcome, undelivered)
    }

    async fn not_modified(&self, head: &Head) -> End {
        let old = self.work.validators.clone().unwrap_or_default();
        let new = conditional::validators(&head.headers);
        let mut outcome = page_outcome(Code::NotModified, 304, "");
        outcome.validators = Some(pb::Validators {
            etag: if new.etag.is_empty() {
                old.etag
            } else {
                new.etag
            },
            last_modified: if new.last_modified.is_empty() {
                old.last_modified
            } else {
                new.last_modified
            },
        });
        // The digest stays what it was (case G5).
        outcome.digest = self.work.digest.clone();
        let Ok(digest) = <[u8; 32]>::try_from(self.work.digest.as_ref()) else {
            return End::page(outcome, Vec::new());
        };
        let capture = UnmodifiedCapture {
            url: self.url.as_str().to_owned(),
            captured_at_unix_ms: unix_ms_now(),
            headers: header_list(head),
            digest: page_store::Digest(digest),
        };
        match self.ctx.pages.put_unmodified(capture).await {
            Ok(()) => self.ctx.pause.wrote(),
            // Another store may hold the payload; the URL's record says which.
            Err(StoreError::UnknownDigest | StoreError::Refused(_)) => {}
            Err(StoreError::Unavailable(reason)) => return self.store_unavailable(&reason, 304),
        }
        End::page(outcome, Vec::new())
    }

    /// A body to keep: read whole, made durable, and only then searched for where to go next (case F16).
    async fn content(&self, head: Head, body: Body) -> End {
        let status = head.status.as_u16();
        let mut got = match read(self, &head, body).await {
            Ok(got) => got,
            Err(error) => return End::page(failure_outcome(error, status), Vec::new()),
        };
        // An empty answer does not replace content we have (case G23).
        if got.payload_size_bytes == 0 && !self.work.digest.is_empty() {
            return End::page(
                page_outcome(Code::HttpError, status, "empty_body"),
                Vec::new(),
            );
        }
        let stored = match self.ctx.pages.put(self.capture(&head, &mut got)).await {
            Ok(stored) => stored,
            Err(StoreError::Unavailable(reason)) => return self.store_unavailable(&reason, status),
            Err(StoreError::Refused(reason)) => {
                tracing::warn!(%reason, "a capture was refused by the store");
                return End::page(
                    page_outcome(Code::HttpError, status, "unstorable"),
                    Vec::new(),
                );
            }
            Err(StoreError::UnknownDigest) => {
                return End::page(page_outcome(Code::Requeue, status, "store"), Vec::new());
            }
        };
        self.ctx.pause.wrote();
        if stored.duplicate {
            self.ctx.metrics.duplicates.increment();
        }
        self.ctx.metrics.payload_bytes.add(got.payload_size_bytes);
        let undelivered = outgoing::offer_links(self, &got.extracted).await;
        let mut outcome = page_outcome(Code::Stored, status, stored_reason(&got));
        outcome.digest = stored.digest.0.to_vec().into();
        outcome.stores = stored.stores;
        outcome.payload_size_bytes = got.payload_size_bytes;
        outcome.validators = Some(conditional::validators(&head.headers));
        outcome.truncated = got.truncated;
        End::page(outcome, undelivered)
    }

    fn capture(&self, head: &Head, got: &mut Read) -> Capture {
        Capture {
            url: self.url.as_str().to_owned(),
            captured_at_unix_ms: got.captured_at_unix_ms,
            protocol: head.protocol.to_owned(),
            status: head.status.as_u16(),
            reason: head.reason.clone(),
            headers: header_list(head),
            peer_addr: head.peer,
            payload: got.payload.bytes(),
            truncated: got.truncated.then_some(Truncated::Length),
        }
    }

    /// The page comes again, and nothing new is leased for a while (promise P5, case J4).
    fn store_unavailable(&self, reason: &str, status: u16) -> End {
        tracing::warn!(reason, "the page store cannot write: leasing pauses");
        self.ctx.metrics.store_full.increment();
        self.ctx.pause.refused();
        End::page(
            page_outcome(Code::Requeue, status, "store_unavailable"),
            Vec::new(),
        )
    }
}

/// What is worth knowing of a stored page. `noindex` is stored and its links are followed: it asks to be left out of an index,
/// which is for whoever builds one to honour.
fn stored_reason(got: &Read) -> &'static str {
    if got.payload_size_bytes == 0 {
        "empty_body"
    } else if got.extracted.directives.noindex {
        "noindex"
    } else if got.extracted.parse_failed {
        "parse_failed"
    } else {
        ""
    }
}

/// The fields as they are stored. Cookies are part of the answer, though we send none back.
fn header_list(head: &Head) -> Vec<(String, Vec<u8>)> {
    head.headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect()
}
