//! A connection that has to ask for something in time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::head::{Head, Speech};
use crate::limits::{HEAD_WAIT, PLAIN_IDLE};

/// An accepted connection. It breaks by itself when its first request head does not come in time, or when one of plain
/// HTTP was silent for too long.
pub struct Connection {
    stream: TcpStream,
    head: Head,
    speech: Speech,
    /// When it breaks, if nothing comes; `None`: never.
    breaks: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, speech: Speech, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            head: Head::new(speech),
            speech,
            breaks: Some(Box::pin(sleep(HEAD_WAIT))),
            _place: place,
        }
    }

    /// Some bytes came.
    fn came(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || !self.head.read(bytes) {
            return;
        }
        match (self.speech, &mut self.breaks) {
            (Speech::Http2, breaks) => *breaks = None,
            (Speech::Http1, Some(breaks)) => breaks.as_mut().reset(Instant::now() + PLAIN_IDLE),
            (Speech::Http1, None) => {}
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(breaks) = &mut self.breaks
            && breaks.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.came(buf.filled().get(before..).unwrap_or_default());
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}
