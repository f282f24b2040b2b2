//! One request for a robots.txt, by its own host's lease or by an errand: the same rules for both (RFC 9309 section 2.3).

use proto::frontier_v1 as pb;
use reqwest::header::{HeaderName, HeaderValue};
use robots::{Failure, Policy, Robots, RobotsAnswer, RobotsPolicy};
use sha2::{Digest, Sha256};
use urlkey::{CanonicalUrl, Canonicalizer};

use crate::addresses::AddressError;
use crate::conditional;
use crate::config::Oversize;
use crate::contact::ContactTrace;
use crate::context::Context;
use crate::deadline::Deadline;
use crate::http::{Body, BodyCaps, FetchError, Head, Opened, Request};
use crate::limits::MAX_ROBOTS_HOPS;
use crate::outcome::is_busy;
use crate::redirect;
use crate::retry_after::retry_after_ms;
use pb::robots_found::Code;

/// What a request came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    /// This holds.
    Found(pb::RobotsFound),
    /// The rules are elsewhere, at a place that may be contacted.
    Elsewhere(CanonicalUrl),
    /// Our own fault: asked again.
    Again,
    /// Not started.
    NotStarted,
}

/// Asks. `hops` redirects have been followed so far.
pub(crate) async fn ask(
    ctx: &Context,
    url: &CanonicalUrl,
    headers: Vec<(HeaderName, HeaderValue)>,
    deadline: Deadline,
    hops: u32,
    trace: &ContactTrace,
) -> Asked {
    let is_conditional = !headers.is_empty();
    // Enough to see that a body is longer than what is parsed.
    let cap = robots::limits::MAX_BODY_BYTES as u64;
    let caps = BodyCaps {
        compressed_bytes: cap,
        decoded_bytes: cap,
        oversize: Oversize::Truncate,
    };
    let opened = ctx
        .open(Request {
            url,
            headers,
            deadline,
            caps,
            trace,
        })
        .await;
    let Opened { head, body } = match opened {
        Ok(opened) => opened,
        Err(FetchError::OutOfTime) => {
            ctx.metrics.out_of_time.increment();
            return Asked::NotStarted;
        }
        Err(FetchError::Fenced | FetchError::Memory) => return Asked::Again,
        Err(error) => return failed(ctx, error, 0),
    };
    let wait_ms = retry_after_ms(&head.headers);
    if is_busy(head.status) {
        trace.retry_after(wait_ms.unwrap_or(0));
    }
    let answer = RobotsAnswer::Status {
        code: head.status.as_u16(),
        retry_after_ms: wait_ms,
    };
    match policy(ctx).classify(&answer) {
        Policy::Parse => rules(ctx, &head, body).await,
        Policy::Redirect => elsewhere(ctx, url, &head, hops),
        Policy::NotModified if is_conditional => {
            let validators = Some(conditional::validators(&head.headers));
            Asked::Found(pb::RobotsFound {
                validators,
                ..found(Code::NotModified, 304, "")
            })
        }
        // Nothing to be unmodified (case G4).
        Policy::NotModified => {
            Asked::Found(found(Code::Unreachable, 304, "unexpected_not_modified"))
        }
        Policy::AllowAll => Asked::Found(found(Code::AllowAll, head.status.as_u16(), "")),
        Policy::DisallowAll => Asked::Found(body_of_rules(
            ctx,
            b"User-agent: *\nDisallow: /\n".to_vec(),
            head.status.as_u16(),
        )),
        Policy::Unreachable { .. } => Asked::Found(found(
            Code::Unreachable,
            head.status.as_u16(),
            &format!("http_{}", head.status.as_u16()),
        )),
    }
}

/// A redirect of a robots.txt that has been followed so many times already.
fn elsewhere(ctx: &Context, url: &CanonicalUrl, head: &Head, hops: u32) -> Asked {
    let refused =
        |reason: &str| Asked::Found(found(Code::Unreachable, head.status.as_u16(), reason));
    if hops >= MAX_ROBOTS_HOPS {
        return refused("too_many_redirects");
    }
    match redirect::target(url, &head.headers, &Canonicalizer::default()) {
        Ok(target) => match ctx.http.check_literal(&target) {
            Ok(()) => Asked::Elsewhere(target),
            // A hop to where we do not go is no licence (case D8).
            Err(error) => refused(error.reason()),
        },
        Err(error) => refused(error.reason()),
    }
}

async fn rules(ctx: &Context, head: &Head, mut body: Body) -> Asked {
    let status = head.status.as_u16();
    let mut text = Vec::new();
    loop {
        match body.next().await {
            Ok(Some(piece)) => text.extend_from_slice(&piece),
            Ok(None) => break,
            Err(error) => return failed(ctx, error, status),
        }
    }
    if body.truncated() {
        // Half a line would forbid or allow too much.
        text.truncate(
            text.iter()
                .rposition(|byte| matches!(byte, b'\n' | b'\r'))
                .map_or(0, |end| end + 1),
        );
    }
    let validators = Some(conditional::validators(&head.headers));
    Asked::Found(pb::RobotsFound {
        validators,
        ..body_of_rules(ctx, text, status)
    })
}

fn body_of_rules(ctx: &Context, text: Vec<u8>, status: u16) -> pb::RobotsFound {
    let parsed = Robots::parse(&text, &ctx.config.http.product);
    pb::RobotsFound {
        digest: Sha256::digest(&text).to_vec().into(),
        body: text.into(),
        crawl_delay_ms: parsed.crawl_delay_ms().unwrap_or(0),
        no_valid_line: parsed.is_noise(),
        ..found(Code::Rules, status, "")
    }
}

/// No usable response: unreachable, whatever the cause (case D1).
fn failed(ctx: &Context, error: FetchError, status: u16) -> Asked {
    let failure = match error {
        FetchError::Dns(_) | FetchError::Address(AddressError::Null) => Failure::Dns,
        FetchError::Address(_) | FetchError::Url | FetchError::Override => Failure::RefusedRedirect,
        FetchError::TlsCertificate | FetchError::TlsHandshake => Failure::Tls,
        FetchError::ConnectTimeout
        | FetchError::FirstByteTimeout
        | FetchError::IdleTimeout
        | FetchError::FetchTimeout => Failure::Timeout,
        FetchError::ConnectRefused | FetchError::ConnectUnreachable | FetchError::ConnectFailed => {
            Failure::Connect
        }
        _ => Failure::Protocol,
    };
    let code = match policy(ctx).classify(&RobotsAnswer::Failed(failure)) {
        Policy::AllowAll => Code::AllowAll,
        _ => Code::Unreachable,
    };
    Asked::Found(found(code, status, error.reason()))
}

fn policy(ctx: &Context) -> RobotsPolicy {
    RobotsPolicy {
        treat_401_403_as_disallow: ctx.config.http.robots_401_403_disallow,
    }
}

/// A finding without a body.
pub(crate) fn found(code: Code, status: u16, reason: &str) -> pb::RobotsFound {
    pb::RobotsFound {
        code: code.into(),
        status: status.into(),
        reason: reason.to_owned(),
        ..Default::default()
    }
}
