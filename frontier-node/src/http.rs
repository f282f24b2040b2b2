//! Metrics and the status page over HTTP.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::serve::Listener;
use client::Frontier;
use proto::frontier_v1 as pb;
use raft_net::{Acceptor, Connection, Speech};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::grpc::{ServeError, check_address};
use crate::node::{Disk, Gauges};
use crate::open_files::http_connections;

const PAGE: &str = include_str!("status.html");
const ROWS: &str = "<!-- rows -->";
const DISK: &str = "<!-- disk -->";

/// What the pages show.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) gauges: Arc<Gauges>,
}

/// A listener whose connections are bounded in number and end when nothing is asked.
struct Bounded(Acceptor);

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        self.0.accept().await
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// Serves `/metrics` and `/` until `stop`.
pub(crate) async fn serve(
    pages: Pages,
    listener: TcpListener,
    allow_non_loopback: bool,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    check_address(listener.local_addr()?, allow_non_loopback)?;
    let router = Router::new()
        .route("/", get(status))
        .route("/metrics", get(metrics))
        .with_state(pages);
    let listener = Bounded(Acceptor::new(listener, Speech::Http1, http_connections()));
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
        .map_err(|error| ServeError::Transport(error.to_string()))
}

async fn metrics(State(pages): State<Pages>) -> impl IntoResponse {
    let text = pages.gauges.refresh().await;
    (
        [(
            CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        text,
    )
}

async fn status(State(pages): State<Pages>) -> Html<String> {
    let mut rows = String::new();
    for shard in pages.gauges.shards() {
        // Writing to a string cannot fail.
        let _ = match pages
            .frontier
            .shard_status(pb::ShardStatusRequest { shard })
            .await
        {
            Ok(status) => row(&mut rows, &status),
            Err(error) => write!(rows, "<tr><td>{shard}</td><td colspan=11>{error}</td></tr>"),
        };
    }
    let disk = match pages.gauges.disk() {
        Disk::Works => "works",
        Disk::Full => "full: nothing is accepted until there is space",
        Disk::Fails => "fails: nothing is acknowledged until it works again",
    };
    Html(PAGE.replace(ROWS, &rows).replace(DISK, disk))
}

/// Numbers only: nothing that a client chose stands on the page.
fn row(rows: &mut String, status: &pb::ShardStatusResponse) -> std::fmt::Result {
    let terms = status.terms.unwrap_or_default();
    let role = if status.leader { "leader" } else { "follower" };
    write!(rows, "<tr><td>{}</td><td>{role}</td>", status.shard)?;
    let figures = [
        status.applied_index,
        terms.accepted,
        terms.queued,
        terms.scheduled,
        terms.leased,
        terms.done,
        terms.removed,
        terms.refused,
        status.active_hosts,
        status.outbox_waiting,
    ];
    for figure in figures {
        write!(rows, "<td>{figure}</td>")?;
    }
    rows.push_str("</tr>\n");
    Ok(())
}
