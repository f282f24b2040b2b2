//! One connection after the other, one request after the other.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::{Answer, answer};
use super::arrival::Arrival;
use super::arrival_log::ArrivalLog;
use super::body::AnswerBody;
use super::flaky::FlakyCounts;
use super::stamped_io::{StampedIo, Stamps};
use crate::limits;
use crate::web::{Web, bare_name};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) web: Web,
    pub(crate) counts: FlakyCounts,
    pub(crate) log: Arc<ArrivalLog>,
}

/// Wait after a failed accept, which is most often a want of file descriptors.
const ACCEPT_WAIT: Duration = Duration::from_millis(10);

/// Accepts connections for ever, [`limits::MAX_CONNECTIONS`] at once.
pub(crate) async fn accept_all(listener: TcpListener, served: Arc<Served>) {
    let slots = Arc::new(Semaphore::new(limits::MAX_CONNECTIONS));
    let mut number = 0;
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                number += 1;
                tokio::spawn(serve(stream, number, Arc::clone(&served), slot));
            }
            Err(_) => tokio::time::sleep(ACCEPT_WAIT).await,
        }
    }
}

async fn serve(stream: TcpStream, number: u64, served: Arc<Served>, _slot: OwnedSemaphorePermit) {
    // Without it small answers may wait for an acknowledgement; nothing else depends on it.
    let _ = stream.set_nodelay(true);
    let (io, stamps) = StampedIo::new(stream);
    let service = service_fn(move |request| {
        respond(Arc::clone(&served), Arc::clone(&stamps), number, request)
    });
    // An error is the client's going away or a body cut on purpose.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits::HEADER_READ_TIMEOUT_MS))
        .serve_connection(TokioIo::new(io), service)
        .await;
}

async fn respond(
    served: Arc<Served>,
    stamps: Arc<Stamps>,
    conn: u64,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let t_ns = stamps.take();
    let authority = match request.uri().host() {
        Some(host) => host.to_owned(),
        None => request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
    };
    let host = bare_name(&authority);
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let answer = answer(&served.web, &served.counts, &host, &path, request.headers());
    // Logged before any wait, so that a request whose client gives up is there too.
    served.log.push(Arrival {
        t_ns,
        host,
        path,
        status: answer.status,
        conn,
    });
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    // Bytes of a request's body must not be taken for the next request's first ones.
    let last = !request.body().is_end_stream();
    Ok(response(answer, last))
}

fn response(answer: Answer, last: bool) -> Response<AnswerBody> {
    let mut response = Response::new(answer.body);
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(name, value);
        }
    }
    if last {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
