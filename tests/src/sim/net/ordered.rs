//! A connection: messages in order in both directions, until one is lost; then nothing comes any more.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Net, Run};

/// Both ends of a connection.
pub(super) struct Connection {
    net: Arc<Net>,
    client: u64,
    server: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_broken: bool,
    /// When the newest message of each direction arrives.
    last_due_ms: [u64; 2],
    /// Takes requests at the server, while it is there.
    requests: Option<mpsc::UnboundedSender<Bytes>>,
}

impl Connection {
    pub(super) fn new(net: &Arc<Net>, client: u64, server: u64) -> Arc<Self> {
        Arc::new(Self {
            net: Arc::clone(net),
            client,
            server,
            state: Mutex::default(),
        })
    }

    fn send(&self, to_server: bool, run: Run) {
        let mut state = self.state.lock().unwrap();
        if state.is_broken {
            return;
        }
        let (from, to) = if to_server {
            (self.client, self.server)
        } else {
            (self.server, self.client)
        };
        let mut net = self.net.inner.lock().unwrap();
        let Some(due_ms) = net.fate(from, to) else {
            state.is_broken = true;
            // The tasks of a node without power are dropped in any order.
            if net.silent == Some(from) {
                return;
            }
            let text = format!(
                "the connection of {} to {} breaks",
                self.client, self.server
            );
            return self.net.trace.event(text);
        };
        let last = &mut state.last_due_ms[usize::from(to_server)];
        *last = due_ms.max(*last);
        net.push(*last, to, run);
    }

    pub(super) fn to_server(&self, run: Run) {
        self.send(true, run);
    }

    pub(super) fn to_client(&self, run: Run) {
        self.send(false, run);
    }

    /// An answer of so many bytes goes back.
    pub(super) fn count_answer(&self, size_bytes: usize) {
        self.net.count_between_nodes(size_bytes);
    }

    /// The server takes requests from here on.
    pub(super) fn accept(&self) -> mpsc::UnboundedReceiver<Bytes> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state.lock().unwrap().requests = Some(sender);
        receiver
    }

    /// Sends one request.
    pub(super) fn request(self: &Arc<Self>, request: Bytes) {
        self.net.count_between_nodes(request.len());
        let there = Arc::clone(self);
        self.to_server(Box::new(move |_| {
            let requests = there.state.lock().unwrap().requests.clone();
            if let Some(requests) = requests {
                let _server_gone = requests.send(request);
            }
        }));
    }

    /// The client sends no more.
    pub(super) fn finish(self: &Arc<Self>) {
        let there = Arc::clone(self);
        self.to_server(Box::new(move |_| {
            let ended = there.state.lock().unwrap().requests.take();
            drop(ended);
        }));
    }
}
