//! How a server is to be set up that carries this service.

use tonic::transport::Server;

use crate::limits::{
    CONNECTION_WINDOW_BYTES, KEEP_ALIVE, KEEP_ALIVE_TIMEOUT, MAX_STREAMS, STREAM_WINDOW_BYTES,
};

/// Lets a server take as many streams as there are groups, without one that is not read holding up the others, and
/// notice peers that vanish. hyper's own limit of 200 streams is too low.
#[must_use]
pub fn tuned(server: Server) -> Server {
    server
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
}
