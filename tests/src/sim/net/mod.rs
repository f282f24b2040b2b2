//! The network: messages between processes that are late, lost, repeated, out of order, or cut off.
//!
//! A message is a closure that runs in the receiver's runtime. All of a run is on one thread; locks are never waited for.

mod frontier;
mod ordered;
mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use frontier_node::FrontierNode;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

pub(super) use frontier::RemoteFrontier;
pub(super) use transport::SimTransport;

use super::plan::Plan;
use super::rng::Rng;
use super::trace::Trace;

/// The process of all fetchers and clients; nodes have their own ids.
pub(super) const WORLD: u64 = 0;

/// How much later than others a late answer comes.
const LATE_MS: (u64, u64) = (500, 6_000);

/// What runs at the receiver; `None`: nobody listens there.
type Run = Box<dyn FnOnce(Option<Arc<FrontierNode>>) + Send>;

/// A message that has come.
pub(super) struct Delivery {
    pub(super) to: u64,
    pub(super) run: Run,
}

/// A call that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RpcError {
    /// Nobody listens.
    Refused,
    /// Nothing came back in time.
    TimedOut,
}

/// The network of one run.
pub(super) struct Net {
    inner: Mutex<Inner>,
    trace: Arc<Trace>,
    /// What replicas sent each other: messages, and their bytes.
    between_nodes: (AtomicU64, AtomicU64),
    /// Calls of fetchers and clients, and the bytes of requests and answers.
    calls: (AtomicU64, AtomicU64),
}

struct Inner {
    now_ms: u64,
    sent: u64,
    queue: BTreeMap<(u64, u64), Delivery>,
    rng: Rng,
    delay_ms: (u64, u64),
    loss_permille: u64,
    repeat_permille: u64,
    late_answer_permille: u64,
    /// Directions in which nothing passes.
    cut: BTreeSet<(u64, u64)>,
    /// A node without power, whose tasks are being dropped: what they would send is not sent.
    silent: Option<u64>,
    /// Directions in which messages take so long.
    slow: BTreeMap<(u64, u64), (u64, u64)>,
}

impl Inner {
    /// When a message sent now arrives; none if it does not.
    fn fate(&mut self, from: u64, to: u64) -> Option<u64> {
        if self.silent == Some(from) {
            return None;
        }
        if self.cut.contains(&(from, to)) || self.rng.chance(self.loss_permille) {
            return None;
        }
        let delay_ms = self.slow.get(&(from, to)).copied();
        let due_ms = self.now_ms + self.rng.between(delay_ms.unwrap_or(self.delay_ms));
        if to == WORLD && self.rng.chance(self.late_answer_permille) {
            return Some(due_ms + self.rng.between(LATE_MS));
        }
        Some(due_ms)
    }

    fn push(&mut self, due_ms: u64, to: u64, run: Run) {
        self.sent += 1;
        self.queue.insert((due_ms, self.sent), Delivery { to, run });
    }
}

impl Net {
    pub(super) fn new(plan: &Plan, trace: Arc<Trace>) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                now_ms: 0,
                sent: 0,
                queue: BTreeMap::new(),
                rng: Rng::new(plan.seed, 3),
                delay_ms: plan.delay_ms,
                loss_permille: plan.loss_permille,
                repeat_permille: plan.repeat_permille,
                late_answer_permille: plan.late_answer_permille,
                cut: BTreeSet::new(),
                silent: None,
                slow: BTreeMap::new(),
            }),
            trace,
            between_nodes: Default::default(),
            calls: Default::default(),
        })
    }

    /// A process calls a node with so many bytes; only fetchers and clients are counted.
    fn count_call(&self, from: u64, size_bytes: usize) {
        if from == WORLD {
            self.calls.0.fetch_add(1, Ordering::Relaxed);
            self.count_answer(from, size_bytes);
        }
    }

    /// So many bytes come back.
    fn count_answer(&self, to: u64, size_bytes: usize) {
        if to == WORLD {
            self.calls.1.fetch_add(size_bytes as u64, Ordering::Relaxed);
        }
    }

    /// Calls of fetchers and clients, and the bytes of requests and answers.
    pub(super) fn calls(&self) -> (u64, u64) {
        let (calls, bytes) = &self.calls;
        (calls.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }

    /// A replica sends another so many bytes.
    fn count_between_nodes(&self, size_bytes: usize) {
        self.between_nodes.0.fetch_add(1, Ordering::Relaxed);
        let size_bytes = size_bytes as u64;
        self.between_nodes
            .1
            .fetch_add(size_bytes, Ordering::Relaxed);
    }

    /// Messages that replicas sent each other, and their bytes.
    pub(super) fn between_nodes(&self) -> (u64, u64) {
        let (messages, bytes) = &self.between_nodes;
        (
            messages.load(Ordering::Relaxed),
            bytes.load(Ordering::Relaxed),
        )
    }

    /// True time goes on; what has come by now, in order.
    pub(super) fn advance(&self, now_ms: u64) -> Vec<Delivery> {
        let mut inner = self.inner.lock().unwrap();
        inner.now_ms = now_ms;
        let mut come = Vec::new();
        while let Some(entry) = inner.queue.first_entry() {
            if entry.key().0 > now_ms {
                break;
            }
            let ((due_ms, sent), delivery) = entry.remove_entry();
            self.trace.mark([1, due_ms, sent, delivery.to]);
            come.push(delivery);
        }
        come
    }

    /// Cuts or mends one direction.
    pub(super) fn set_cut(&self, from: u64, to: u64, is_cut: bool) {
        let mut inner = self.inner.lock().unwrap();
        if is_cut {
            inner.cut.insert((from, to));
        } else {
            inner.cut.remove(&(from, to));
        }
    }

    /// Nothing comes from a node while its tasks are dropped.
    pub(super) fn set_silent(&self, node: Option<u64>) {
        self.inner.lock().unwrap().silent = node;
    }

    /// Makes one direction slow, or as fast as the others.
    pub(super) fn set_slow(&self, from: u64, to: u64, delay_ms: Option<(u64, u64)>) {
        let mut inner = self.inner.lock().unwrap();
        match delay_ms {
            Some(delay_ms) => inner.slow.insert((from, to), delay_ms),
            None => inner.slow.remove(&(from, to)),
        };
    }

    /// From now on every message comes once and soon.
    pub(super) fn heal(&self) {
        let mut inner = self.inner.lock().unwrap();
        inner.cut.clear();
        inner.slow.clear();
        inner.loss_permille = 0;
        inner.repeat_permille = 0;
        inner.late_answer_permille = 0;
    }

    /// Sends a message once.
    fn send(&self, from: u64, to: u64, run: Run) {
        let mut inner = self.inner.lock().unwrap();
        if let Some(due_ms) = inner.fate(from, to) {
            inner.push(due_ms, to, run);
        }
    }

    /// Something is told to a node by the world, once: whether it is open is told to what runs there.
    pub(super) fn tell(&self, to: u64, run: impl FnOnce(bool) + Send + 'static) {
        self.send(WORLD, to, Box::new(move |node| run(node.is_some())));
    }

    /// Sends a message that may come twice.
    fn send_repeatable(
        &self,
        from: u64,
        to: u64,
        may_repeat: bool,
        run: Arc<dyn Fn(Option<Arc<FrontierNode>>) + Send + Sync>,
    ) {
        let mut inner = self.inner.lock().unwrap();
        if inner.silent == Some(from) {
            return;
        }
        let permille = inner.repeat_permille;
        let copies = 1 + u64::from(may_repeat && inner.rng.chance(permille));
        for _ in 0..copies {
            if let Some(due_ms) = inner.fate(from, to) {
                let run = Arc::clone(&run);
                inner.push(due_ms, to, Box::new(move |node| run(node)));
            }
        }
    }

    /// A call with one answer. With `may_repeat`, what is served may be served twice.
    pub(super) async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        (from, to): (u64, u64),
        may_repeat: bool,
        timeout: Duration,
        serve: impl Fn(Arc<FrontierNode>) -> BoxFuture<'static, T> + Send + Sync + 'static,
    ) -> Result<T, RpcError> {
        let (sender, receiver) = oneshot::channel();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let net = Arc::clone(self);
        let run = move |node: Option<Arc<FrontierNode>>| {
            let sender = Arc::clone(&sender);
            let answer = move |answer: Result<T, RpcError>| -> Run {
                Box::new(move |_| {
                    if let Some(sender) = sender.lock().unwrap().take() {
                        let _gone = sender.send(answer);
                    }
                })
            };
            let net = Arc::clone(&net);
            match node {
                None => net.send(to, from, answer(Err(RpcError::Refused))),
                Some(node) => {
                    let work = serve(node);
                    tokio::spawn(async move {
                        let served = work.await;
                        net.send(to, from, answer(Ok(served)));
                    });
                }
            }
        };
        self.send_repeatable(from, to, may_repeat, Arc::new(run));
        // A lost message drops its sender: nobody learns of that.
        let answered = async {
            match receiver.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::time::timeout(timeout, answered)
            .await
            .unwrap_or(Err(RpcError::TimedOut))
    }
}
