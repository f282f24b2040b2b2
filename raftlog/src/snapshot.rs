//! Snapshots of one group: exported in chunks from one view of the rows, staged as table files at the receiver,
//! checked whole, then ingested in one step.
//!
//! Memory is bounded on both sides by a few chunks, and writes go on meanwhile. Applied log id and membership are
//! read from the same view as the rows, and are rows of the ingested set, so there is no moment at which rows and
//! applied index disagree, whenever the power goes.

mod chunks;
mod export;
mod foreign;
mod held;
mod install;
mod receive;
mod stage;

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

pub(crate) use chunks::encode_chunks;
pub(crate) use export::export;
use held::HeldRows;
pub(crate) use install::install;
pub(crate) use receive::receive;

use crate::errors::StateError;
use crate::raft_types::SnapshotMeta;
use crate::rows::KeyRange;
use crate::wire::RowMsg;
use stage::Staged;

/// Rows of one chunk, in ascending order of keys.
pub(crate) type ChunkRows = Vec<RowMsg>;

/// Something whose rows can be exported. A trait, so that this type does not contain the whole engine.
pub(crate) trait Exporter: Send + Sync {
    /// Opens a view of the rows.
    fn export(self: Arc<Self>) -> BoxFuture<'static, io::Result<(SnapshotMeta, Export)>>;
}

/// A snapshot being read.
pub(crate) struct Export {
    pub(crate) ranges: Vec<KeyRange>,
    /// Dropping it unused ends the reader.
    pub(crate) start: oneshot::Sender<()>,
    /// Chunks until the channel closes; an error is the last.
    pub(crate) chunks: mpsc::Receiver<Result<HeldRows, StateError>>,
}

/// The rows of a snapshot, in one of the forms they take.
pub(crate) enum SnapshotData {
    /// The rows as last flushed; to be read, they are exported anew.
    Flushed(Arc<dyn Exporter>),
    /// Being read on this node.
    Export(Export),
    /// Received from another node and checked.
    Staged(Staged),
}
