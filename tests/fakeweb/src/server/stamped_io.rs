//! A connection that notes when the first byte of each request was read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::arrival::monotonic_ns;

/// The times one connection notes, shared with whoever answers its requests.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// First byte read since the last request was taken; 0 for none.
    first_ns: AtomicU64,
    /// Last byte read.
    last_ns: AtomicU64,
}

impl Stamps {
    /// When the request now being answered arrived. A request that came in the same read as the one
    /// before it has the time of that read.
    pub(crate) fn take(&self) -> u64 {
        match self.first_ns.swap(0, Ordering::AcqRel) {
            0 => self.last_ns.load(Ordering::Acquire),
            first_ns => first_ns,
        }
    }

    fn note(&self) {
        let now_ns = monotonic_ns();
        let _ = self
            .first_ns
            .compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Acquire);
        self.last_ns.store(now_ns, Ordering::Release);
    }
}

/// A TCP stream with stamps.
#[derive(Debug)]
pub(crate) struct StampedIo {
    stream: TcpStream,
    stamps: Arc<Stamps>,
}

impl StampedIo {
    /// Wraps a stream before anything was read from it.
    pub(crate) fn new(stream: TcpStream) -> (Self, Arc<Stamps>) {
        let stamps = Arc::new(Stamps::default());
        (
            Self {
                stream,
                stamps: Arc::clone(&stamps),
            },
            stamps,
        )
    }
}

impl AsyncRead for StampedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.stamps.note();
        }
        polled
    }
}

impl AsyncWrite for StampedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
