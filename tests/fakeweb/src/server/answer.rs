//! From a request to an answer: status, headers, body and the wait before it.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use hyper::header::{self, HeaderMap, HeaderName};

use super::body::AnswerBody;
use super::flaky::FlakyCounts;
use crate::rng::{Purpose, Rng};
use crate::web::{
    Found, Host, Payload, Resource, RobotsAnswer, Validators, Web, canonical_path, host_index,
};

/// `Retry-After` of the answers 503, in seconds.
pub(crate) const RETRY_AFTER_S: u32 = 2;

/// What is sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: AnswerBody,
    /// Wait before the first byte.
    pub(crate) delay: Duration,
}

impl Answer {
    fn plain(status: u16, text: &'static str) -> Self {
        let body = AnswerBody::Whole(Bytes::from_static(text.as_bytes()));
        Self {
            status,
            headers: vec![content_type("text/plain")],
            body,
            delay: Duration::ZERO,
        }
    }

    fn redirect(status: u16, location: String) -> Self {
        let mut answer = Self::plain(status, "see elsewhere\n");
        answer.headers.push((header::LOCATION, location));
        answer
    }
}

fn content_type(value: &str) -> (HeaderName, String) {
    (header::CONTENT_TYPE, value.to_owned())
}

/// The answer to a request for `path` at the host called `name`.
pub(crate) fn answer(
    web: &Web,
    counts: &FlakyCounts,
    name: &str,
    path: &str,
    asked: &HeaderMap,
) -> Answer {
    let Some(index) = host_index(name, web.hosts) else {
        return Answer::plain(404, "no such host\n");
    };
    let host = web.host(index);
    let path = canonical_path(path);
    let mut rng = web.rng(Purpose::Delivery, index, path_number(&path));
    let mut answer = match web.robots_answer(&host, &path) {
        Some(robots) => robots_answer(robots),
        None => match web.lookup(&host, &path) {
            Some(found) => page_answer(web, counts, &host, &found, asked, &mut rng),
            None => Answer::plain(404, "no such page\n"),
        },
    };
    let shape = &web.shape;
    let delay_ms = match host.slow_ms {
        0 => rng.range(shape.latency_min_ms, shape.latency_max_ms),
        slow_ms => slow_ms,
    };
    answer.delay = Duration::from_millis(u64::from(delay_ms));
    answer
}

/// A number that differs between most paths, to key what varies in delivery only.
fn path_number(path: &str) -> u32 {
    path.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn robots_answer(robots: RobotsAnswer) -> Answer {
    match robots {
        RobotsAnswer::Status(status) => Answer::plain(status, "no robots file\n"),
        RobotsAnswer::Redirect(target) => Answer::redirect(302, target),
        RobotsAnswer::File(text) => Answer {
            status: 200,
            headers: vec![content_type("text/plain; charset=utf-8")],
            body: AnswerBody::Whole(text.into()),
            delay: Duration::ZERO,
        },
    }
}

fn page_answer(
    web: &Web,
    counts: &FlakyCounts,
    host: &Host,
    found: &Found,
    asked: &HeaderMap,
    rng: &mut Rng,
) -> Answer {
    match &found.resource {
        Resource::Status(status) => return Answer::plain(*status, "nothing to see\n"),
        Resource::Redirect {
            status, location, ..
        } => return Answer::redirect(*status, location.clone()),
        Resource::BodyAfter(times) if counts.refuses(host.index, found.unit, *times) => {
            let mut answer = Answer::plain(503, "busy\n");
            answer
                .headers
                .push((header::RETRY_AFTER, RETRY_AFTER_S.to_string()));
            return answer;
        }
        _ => {}
    }
    let validators = web.validators(host, found);
    let mut headers = validator_headers(&validators);
    if is_current(&validators, asked) {
        return Answer {
            status: 304,
            headers,
            body: AnswerBody::Whole(Bytes::new()),
            delay: Duration::ZERO,
        };
    }
    let payload = web.payload(host, found);
    headers.push(content_type(payload.content_type));
    let body = if found.resource == Resource::Cut {
        cut(payload, &mut headers)
    } else {
        whole(web, payload, asked, &mut headers, rng)
    };
    Answer {
        status: 200,
        headers,
        body,
        delay: Duration::ZERO,
    }
}

fn validator_headers(validators: &Validators) -> Vec<(HeaderName, String)> {
    let mut headers = Vec::new();
    if let Some(etag) = &validators.etag {
        headers.push((header::ETAG, etag.clone()));
    }
    if let Some(seconds) = validators.last_modified_s {
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        headers.push((header::LAST_MODIFIED, date));
    }
    headers
}

/// RFC 9110 section 13.1: a known entity tag decides; without one in the request, the date does.
fn is_current(validators: &Validators, asked: &HeaderMap) -> bool {
    let asked_for = |name| asked.get(name).and_then(|value| value.to_str().ok());
    if let Some(tags) = asked_for(header::IF_NONE_MATCH) {
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        return validators.etag.as_deref().is_some_and(|etag| {
            tags.split(',')
                .any(|tag| opaque(tag) == opaque(etag) || tag.trim() == "*")
        });
    }
    let since =
        asked_for(header::IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
    match (since, validators.last_modified_s) {
        (Some(since), Some(seconds)) => UNIX_EPOCH + Duration::from_secs(seconds) <= since,
        _ => false,
    }
}

/// A third of the body under a length of all of it.
fn cut(payload: Payload, headers: &mut Vec<(HeaderName, String)>) -> AnswerBody {
    let announced = payload.bytes.len() + 1;
    headers.push((header::CONTENT_LENGTH, announced.to_string()));
    let sent = Bytes::from(payload.bytes);
    AnswerBody::Cut(sent.slice(..sent.len() / 3), None)
}

fn whole(
    web: &Web,
    payload: Payload,
    asked: &HeaderMap,
    headers: &mut Vec<(HeaderName, String)>,
    rng: &mut Rng,
) -> AnswerBody {
    let mut bytes = payload.bytes;
    let coding = if web.features.compression && !bytes.is_empty() {
        chosen_coding(asked, rng)
    } else {
        None
    };
    if let Some(coding) = coding {
        // Writing to memory cannot fail; were it to, the plain bytes are right as well.
        if let Ok(packed) = pack(coding, &bytes) {
            bytes = packed;
            headers.push((header::CONTENT_ENCODING, coding.to_owned()));
            headers.push((header::VARY, "Accept-Encoding".to_owned()));
        }
    }
    if web.features.chunked && rng.chance(300) {
        AnswerBody::Chunked(bytes.into())
    } else {
        AnswerBody::Whole(bytes.into())
    }
}

/// Most bodies are packed for a client that accepts it.
fn chosen_coding(asked: &HeaderMap, rng: &mut Rng) -> Option<&'static str> {
    let wanted = rng.pick(&["gzip", "gzip", "gzip", "deflate", "identity"]);
    let accepted = asked.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    let offers = |coding: &str| {
        accepted.split(',').any(|offer| {
            let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
            name.trim().eq_ignore_ascii_case(coding) && !matches!(weight.trim(), "q=0" | "q=0.0")
        })
    };
    (wanted != "identity" && offers(wanted)).then_some(wanted)
}

fn pack(coding: &str, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    if coding == "gzip" {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes)?;
        return encoder.finish();
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
