//! The listener: one process, one port, many hosts.

mod answer;
mod arrival;
mod arrival_log;
mod body;
mod connection;
mod flaky;
mod stamped_io;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

pub(crate) use answer::RETRY_AFTER_S;
pub use arrival::{Arrival, monotonic_ns};
use arrival_log::ArrivalLog;
use connection::{Served, accept_all};
use flaky::FlakyCounts;

use crate::limits;
use crate::options::{FakeWebError, FakeWebOptions};
use crate::web::{Web, host_name};

/// The fake web's server.
#[derive(Debug)]
pub struct FakeWeb;

impl FakeWeb {
    /// Binds the listener and serves on threads of its own until shut down or dropped.
    ///
    /// May be called inside or outside an async runtime. When it returns, connections are accepted.
    pub fn start(options: FakeWebOptions) -> Result<RunningFakeWeb, FakeWebError> {
        options.validate()?;
        let log = Arc::new(ArrivalLog::open(&options)?);
        let served = Served {
            web: Web::new(&options),
            counts: FlakyCounts::default(),
            log: Arc::clone(&log),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads)
            .thread_name("fakeweb")
            .enable_all()
            .build()
            .map_err(FakeWebError::Runtime)?;
        let listener = {
            let _inside = runtime.enter();
            listen(options.listen)
        };
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (addr, listener) = match bound {
            Ok(bound) => bound,
            Err(source) => {
                runtime.shutdown_background();
                return Err(FakeWebError::Listen {
                    listen: options.listen,
                    source,
                });
            }
        };
        let writer = log.start_writer().map_err(FakeWebError::Runtime);
        let (stop, stopped) = watch::channel(());
        let server = std::thread::Builder::new()
            .name("fakeweb-main".into())
            .spawn(move || {
                runtime.block_on(async move {
                    tokio::spawn(accept_all(listener, Arc::new(served)));
                    let mut stopped = stopped;
                    // An error means that the sender is gone: the same wish.
                    let _ = stopped.changed().await;
                });
                runtime.shutdown_timeout(Duration::from_secs(1));
            });
        let server = server.map_err(FakeWebError::Runtime)?;
        let seed_url = format!("http://{}/", host_name(0));
        let threads = Some((server, writer?));
        Ok(RunningFakeWeb {
            addr,
            seed_url,
            log,
            stop,
            threads,
        })
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::LISTEN_BACKLOG)
}

/// A fake web that serves. Dropping it stops it.
#[derive(Debug)]
pub struct RunningFakeWeb {
    /// Address it listens on.
    pub addr: SocketAddr,
    /// URL everything is reachable from; it names no port, so a crawler must be told the address.
    pub seed_url: String,
    log: Arc<ArrivalLog>,
    stop: watch::Sender<()>,
    threads: Option<(JoinHandle<()>, JoinHandle<()>)>,
}

impl RunningFakeWeb {
    /// The arrivals so far, by arrival time; the first [`limits::MAX_KEPT_ARRIVALS`] answered.
    pub fn arrivals(&self) -> Vec<Arrival> {
        let mut arrivals = self.log.kept();
        arrivals.sort_by_key(|arrival| arrival.t_ns);
        arrivals
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.log.total()
    }

    /// Stops serving and writes the rest of the log. Reports the first error in writing it.
    pub fn shutdown(mut self) -> io::Result<()> {
        self.halt()
    }

    fn halt(&mut self) -> io::Result<()> {
        let Some((server, writer)) = self.threads.take() else {
            return Ok(());
        };
        let _ = self.stop.send(());
        let served = server.join();
        self.log.stop();
        writer.thread().unpark();
        let written = writer.join();
        if served.is_err() || written.is_err() {
            return Err(io::Error::other("a thread of the fake web panicked"));
        }
        self.log.take_error().map_or(Ok(()), Err)
    }
}

impl Drop for RunningFakeWeb {
    fn drop(&mut self) {
        // Who wants to know of errors calls `shutdown`.
        let _ = self.halt();
    }
}
