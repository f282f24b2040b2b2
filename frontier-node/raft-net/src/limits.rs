//! Every limit of this crate in one place.

use std::time::Duration;

/// Largest vote, transfer request or heartbeat, in bytes. They hold ids, no entries.
pub const MAX_CALL_BYTES: usize = 1024 * 1024;

/// Largest append request, in bytes: one entry of 16 MiB always fits.
pub const MAX_APPEND_BYTES: usize = 20 * 1024 * 1024;

/// Largest snapshot chunk, in bytes.
pub const MAX_CHUNK_BYTES: usize = raftlog::limits::MAX_SNAPSHOT_CHUNK_BYTES;

/// Largest message on the wire, in bytes: a snapshot chunk and what names it.
pub const MAX_MESSAGE_BYTES: usize = MAX_CHUNK_BYTES + 4 * 1024;

/// Longest reason that a refusal carries, in characters.
pub const MAX_REASON_CHARS: usize = 512;

/// Heartbeats of one batch.
pub const MAX_BATCH_HEARTBEATS: usize = 1024;

/// Bytes of one batch of heartbeats, beyond which no other is added.
pub const MAX_BATCH_BYTES: usize = 256 * 1024;

/// Heartbeats that may wait for one peer's next batch; more are refused at once.
pub const MAX_WAITING_HEARTBEATS: usize = 4096;

/// Heartbeats of one link that a receiver works on; it reads no further until one is answered.
pub const MAX_HEARTBEATS_UNDER_WAY: usize = 4096;

/// Longest time that a receiver works on a heartbeat, whatever its sender would wait.
pub const MAX_HEARTBEAT_TIME: Duration = Duration::from_secs(10);

/// Messages of a link between its task and its connection.
pub const LINK_QUEUE: usize = 4;

/// Pings without an answer and without any other message after which a link is given up.
pub const SILENT_PINGS: u32 = 6;

/// Silence after which the receiving side ends a link. A living sender pings many times in it.
pub const LINK_SILENCE: Duration = Duration::from_secs(30);

/// Longest wait for a peer that took a connection to take the link too.
pub const LINK_OPEN: Duration = Duration::from_secs(2);

/// First pause between two dials of a link, and the time for which a failed dial speaks for the calls after it.
pub const REDIAL_MIN: Duration = Duration::from_millis(50);

/// Longest pause between two dials of a link.
pub const REDIAL_MAX: Duration = Duration::from_secs(1);

/// A link that lived so long is dialled again without a pause.
pub const LIVED: Duration = Duration::from_secs(1);

/// Pause between two readings of the address book.
pub const BOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Peers at the same moment.
pub const MAX_PEERS: usize = 256;

/// A peer that the address book does not list is forgotten after so long without a message.
pub const PEER_IDLE: Duration = Duration::from_secs(60);

/// Longest wait of a receiver for the message that opens a stream.
pub const STREAM_OPEN: Duration = Duration::from_secs(10);

/// Longest wait of a receiver for the next snapshot chunk.
pub const CHUNK_WAIT: Duration = Duration::from_secs(120);

/// Longest wait of a sender, after the last chunk, for the snapshot to be installed.
pub const INSTALL_WAIT: Duration = Duration::from_secs(300);

/// Streams of one connection that a server takes: several for each of some thousand groups.
pub const MAX_STREAMS: u32 = 16_384;

/// HTTP/2 window of one stream, in bytes.
pub const STREAM_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// HTTP/2 window of one connection, in bytes. Well above a stream's, so that some that are not read leave room.
pub const CONNECTION_WINDOW_BYTES: u32 = 64 * 1024 * 1024;

/// Pause between two HTTP/2 pings of a connection.
pub const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Silence after an HTTP/2 ping that ends a connection.
pub const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Deaths of peers that a slow listener may lag behind.
pub const REFUSED_QUEUE: usize = 64;

/// Connections that one server holds at once.
pub const MAX_CONNECTIONS: usize = 4_096;

/// Longest wait for the first request head of a connection.
pub const HEAD_WAIT: Duration = Duration::from_secs(10);

/// Longest silence of a connection of plain HTTP after its first request.
pub const PLAIN_IDLE: Duration = Duration::from_secs(60);

/// Pause before connections are taken again after the system had no files or memory for one.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
