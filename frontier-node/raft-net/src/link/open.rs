//! Opening a link: connection, stream, and the peer's word that it is the one meant.

use std::io;

use proto::raft_v1 as pb;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Streaming};

use crate::dialer::{Dialer, channel_over};
use crate::lanes::client_over;
use crate::limits::{LINK_OPEN, LINK_QUEUE};
use crate::status::causes;

/// Why a link did not open.
#[derive(Debug)]
pub(super) enum OpenFailure {
    /// The address book does not know the peer.
    NoAddress,
    /// No connection.
    Dial(io::Error),
    /// Another replica, or another cluster, answers at the address.
    Stranger(String),
    /// A connection, but no link in time.
    Silent,
    /// A connection that broke, or a refusal.
    Broke(String),
}

impl OpenFailure {
    /// It follows that the process which had the link before lives no more.
    pub(super) fn shows_death(&self) -> bool {
        match self {
            Self::Dial(error) => error.kind() == io::ErrorKind::ConnectionRefused,
            Self::Stranger(_) => true,
            Self::NoAddress | Self::Silent | Self::Broke(_) => false,
        }
    }
}

impl std::fmt::Display for OpenFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoAddress => f.write_str("its address is not known"),
            Self::Dial(error) => write!(f, "no connection: {error}"),
            Self::Stranger(reason) => write!(f, "another process answers: {reason}"),
            Self::Silent => f.write_str("it took the connection and says nothing"),
            Self::Broke(reason) => write!(f, "no link: {reason}"),
        }
    }
}

/// The two directions of an open link.
pub(super) struct Opened {
    pub(super) out: mpsc::Sender<pb::LinkRequest>,
    pub(super) inbound: Streaming<pb::LinkReply>,
    /// When the ping in the first message left.
    pub(super) first_ping: Instant,
}

/// Dials and opens. `first` carries a ping, which lets the peer check at once who wants what.
pub(super) async fn open(dialer: &Dialer, first: pb::LinkRequest) -> Result<Opened, OpenFailure> {
    let stream = dialer.dial().await.map_err(OpenFailure::Dial)?;
    timeout(LINK_OPEN, open_over(stream, first))
        .await
        .unwrap_or(Err(OpenFailure::Silent))
}

async fn open_over(
    stream: tokio::net::TcpStream,
    first: pb::LinkRequest,
) -> Result<Opened, OpenFailure> {
    let broke =
        |error: &dyn std::error::Error| OpenFailure::Broke(format!("{error}{}", causes(error)));
    let channel = channel_over(stream).await.map_err(|error| broke(&error))?;
    let (out, outgoing) = mpsc::channel(LINK_QUEUE);
    out.try_send(first).map_err(|error| broke(&error))?;
    let first_ping = Instant::now();
    let opened = client_over(channel)
        .link(ReceiverStream::new(outgoing))
        .await;
    let inbound = opened.map_err(|status| match status.code() {
        Code::FailedPrecondition => OpenFailure::Stranger(status.message().to_owned()),
        _ => OpenFailure::Broke(format!("{}{}", status.message(), causes(&status))),
    })?;
    Ok(Opened {
        out,
        inbound: inbound.into_inner(),
        first_ping,
    })
}
