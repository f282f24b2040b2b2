//! Closing an engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Engine;
use crate::errors::StopReason;
use crate::status::GroupState;

/// Longest wait for readers of rows.
const PATIENCE: Duration = Duration::from_secs(10);

impl Engine {
    /// Stops all groups, flushes, and closes the databases. Their directory can be opened again on return, unless a
    /// reader held on to a view. A second call does nothing.
    pub async fn close(self: &Arc<Self>) {
        let slots = self.shared.slots();
        for slot in &slots {
            slot.request_stop();
        }
        for slot in &slots {
            slot.wait_ended().await;
            self.shared.forget(slot);
        }
        if let Err(reason) = self.shared.flusher.flush().await {
            tracing::warn!(%reason, "the state was not flushed; the log will be replayed");
        }
        if self.shared.options.threads.is_inline() {
            return self.close_inline().await;
        }
        let (sender, receiver) = oneshot::channel();
        let engine = Arc::clone(self);
        std::thread::spawn(move || {
            engine.close_threads();
            let _gone = sender.send(());
        });
        let _closed = receiver.await;
    }

    /// Ends the threads and closes the databases. Blocks.
    fn close_threads(&self) {
        self.signal_close();
        self.shared.syncer.close();
        for thread in self.threads.lock().drain(..) {
            let _panicked = thread.join();
        }
        self.close_databases();
    }

    /// Ends the tasks and closes the databases.
    async fn close_inline(&self) {
        self.signal_close();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            let _panicked = task.await;
        }
        self.close_databases();
    }

    fn close_databases(&self) {
        self.shared.apply_lanes.close();
        self.shared.read_lanes.close();
        let closed = self.shared.log_cell.close(PATIENCE) && self.shared.state_cell.close(PATIENCE);
        if !closed {
            tracing::warn!("a reader still holds a view of the rows");
        }
    }

    fn signal_close(&self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        *self.shared.closed.lock() = true;
        self.shared.closed_changed.notify_all();
        self.shared.flusher.begin_close();
        self.shared.syncer.begin_close();
    }
}

impl Drop for Engine {
    /// Without [`Engine::close`] nothing is waited for: threads end in their own time, the rest is replayed.
    fn drop(&mut self) {
        for slot in self.shared.slots() {
            slot.request_stop();
        }
        self.signal_close();
        if self.shared.options.threads.is_inline() {
            self.let_go();
        }
    }
}

impl Engine {
    /// Breaks the circles of who holds whom. Where work is done on the spot, a dropped runtime took the tasks along that
    /// would have done so.
    fn let_go(&self) {
        for slot in self.shared.slots() {
            slot.set_down(GroupState::Stopped(StopReason::Shutdown));
            self.shared.forget(&slot);
        }
        self.shared.flusher.forget_all();
    }
}
