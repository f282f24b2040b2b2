//! Messages between replicas over the simulated network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use raftlog::{CallKind, Destination, ReplyStream, Transport, TransportError, process_of};
use tokio::sync::{mpsc, oneshot};

use super::ordered::Connection;
use super::{Net, RpcError};

/// One node's end of the network.
pub(in super::super) struct SimTransport {
    pub(in super::super) net: Arc<Net>,
    pub(in super::super) from: u64,
}

fn unreachable(node: u64) -> TransportError {
    TransportError::Unreachable(format!("node {node}"))
}

/// Ends a task and its connection with whoever waits for it.
struct Guard {
    connection: Arc<Connection>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.connection.finish();
    }
}

fn requests_of(receiver: mpsc::UnboundedReceiver<Bytes>) -> BoxStream<'static, Bytes> {
    futures::stream::unfold(receiver, |mut receiver| async move {
        let request = receiver.recv().await?;
        Some((request, receiver))
    })
    .boxed()
}

impl Transport for SimTransport {
    fn call(
        &self,
        to: Destination,
        kind: CallKind,
        request: Bytes,
        timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let (net, from) = (Arc::clone(&self.net), self.from);
        Box::pin(async move {
            let serve = move |node: Arc<frontier_node::FrontierNode>| {
                let request = request.clone();
                let work: BoxFuture<'static, _> = Box::pin(async move {
                    node.engine()
                        .receive_call(to.group_id, kind, &request)
                        .await
                });
                work
            };
            match net
                .call((from, process_of(to.node_id)), true, timeout, serve)
                .await
            {
                Ok(answer) => answer,
                Err(RpcError::Refused) => Err(unreachable(process_of(to.node_id))),
                Err(RpcError::TimedOut) => Err(TransportError::TimedOut),
            }
        })
    }

    fn append_stream(
        &self,
        to: Destination,
        requests: BoxStream<'static, Bytes>,
        idle_timeout: Duration,
    ) -> BoxFuture<'static, Result<ReplyStream, TransportError>> {
        let connection = Connection::new(&self.net, self.from, process_of(to.node_id));
        Box::pin(async move {
            let (replies, receiver) = mpsc::unbounded_channel();
            // A lost message drops its sender; the client learns of nothing, so it keeps one itself.
            open_append(&connection, to, replies.clone());
            let asked = Arc::new(AtomicU64::new(0));
            let task = tokio::spawn(pump(Arc::clone(&connection), requests, Arc::clone(&asked)));
            let guard = Guard {
                connection,
                task: Some(task),
            };
            Ok(read_replies(
                (replies, receiver),
                asked,
                idle_timeout,
                guard,
            ))
        })
    }

    fn snapshot(
        &self,
        to: Destination,
        mut chunks: BoxStream<'static, Bytes>,
        chunk_timeout: Duration,
    ) -> BoxFuture<'static, Result<Bytes, TransportError>> {
        let connection = Connection::new(&self.net, self.from, process_of(to.node_id));
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            open_snapshot(&connection, to, sender);
            let guard = Guard {
                connection: Arc::clone(&connection),
                task: None,
            };
            while let Some(chunk) = chunks.next().await {
                connection.request(chunk);
            }
            drop(guard);
            match tokio::time::timeout(chunk_timeout, receiver).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => Err(TransportError::TimedOut),
            }
        })
    }
}

type Replies = mpsc::UnboundedSender<Result<Bytes, TransportError>>;

fn open_append(connection: &Arc<Connection>, to: Destination, replies: Replies) {
    let there = Arc::clone(connection);
    connection.to_server(Box::new(move |node| {
        let back = Arc::clone(&there);
        let reply = move |reply| {
            let replies = replies.clone();
            back.to_client(Box::new(move |_| {
                let _gone = replies.send(reply);
            }));
        };
        let Some(node) = node else {
            return reply(Err(unreachable(process_of(to.node_id))));
        };
        let requests = requests_of(there.accept());
        match node.engine().receive_append_stream(to.group_id, requests) {
            Err(error) => reply(Err(error)),
            Ok(mut served) => {
                tokio::spawn(async move {
                    while let Some(answer) = served.next().await {
                        reply(answer);
                    }
                    reply(Err(unreachable(process_of(to.node_id))));
                });
            }
        }
    }));
}

async fn pump(
    connection: Arc<Connection>,
    mut requests: BoxStream<'static, Bytes>,
    asked: Arc<AtomicU64>,
) {
    while let Some(request) = requests.next().await {
        asked.fetch_add(1, Ordering::Relaxed);
        connection.request(request);
    }
    connection.finish();
}

fn read_replies(
    (kept, receiver): (
        Replies,
        mpsc::UnboundedReceiver<Result<Bytes, TransportError>>,
    ),
    asked: Arc<AtomicU64>,
    idle_timeout: Duration,
    guard: Guard,
) -> ReplyStream {
    let state = Some((receiver, 0, (guard, kept)));
    futures::stream::unfold(state, move |state| {
        let asked = Arc::clone(&asked);
        async move {
            let (mut receiver, answered, guard) = state?;
            loop {
                match tokio::time::timeout(idle_timeout, receiver.recv()).await {
                    Ok(None) => return None,
                    Ok(Some(Ok(reply))) => {
                        return Some((Ok(reply), Some((receiver, answered + 1, guard))));
                    }
                    Ok(Some(Err(error))) => return Some((Err(error), None)),
                    Err(_) if asked.load(Ordering::Relaxed) > answered => {
                        return Some((Err(TransportError::TimedOut), None));
                    }
                    Err(_) => {}
                }
            }
        }
    })
    .boxed()
}

fn open_snapshot(
    connection: &Arc<Connection>,
    to: Destination,
    sender: oneshot::Sender<Result<Bytes, TransportError>>,
) {
    let there = Arc::clone(connection);
    connection.to_server(Box::new(move |node| {
        let back = Arc::clone(&there);
        let reply = move |reply| {
            back.to_client(Box::new(move |_| {
                let _gone = sender.send(reply);
            }));
        };
        let Some(node) = node else {
            return reply(Err(unreachable(process_of(to.node_id))));
        };
        let chunks = requests_of(there.accept());
        tokio::spawn(async move {
            reply(node.engine().receive_snapshot(to.group_id, chunks).await);
        });
    }));
}
