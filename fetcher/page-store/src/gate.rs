//! Back-pressure: how many puts, and how many payload bytes, are in progress; and how many of them use a core.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::PutError;
use crate::options::StoreOptions;

/// Bytes are counted in units of this size, so that 64 GiB fit a semaphore's count.
const UNIT_BYTES: u64 = 1_024;

/// The bounds of a store.
#[derive(Debug)]
pub(crate) struct Gate {
    slots: Arc<Semaphore>,
    units: Arc<Semaphore>,
    units_max_count: u32,
    cores: Arc<Semaphore>,
}

/// A put in progress; it goes with the record until that is answered, so that abandoned puts count too.
#[derive(Debug)]
pub(crate) struct Pass {
    _slot: OwnedSemaphorePermit,
    _units: OwnedSemaphorePermit,
}

impl Gate {
    pub(crate) fn new(options: &StoreOptions) -> Gate {
        let units_max_count =
            u32::try_from(options.waiting_max_size_bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let core_count = std::thread::available_parallelism().map_or(1, usize::from);
        Gate {
            slots: Arc::new(Semaphore::new(options.waiting_max_count)),
            units: Arc::new(Semaphore::new(units_max_count as usize)),
            units_max_count,
            cores: Arc::new(Semaphore::new(core_count)),
        }
    }

    /// Waits until a put of this size may begin, in order of arrival.
    pub(crate) async fn enter(&self, size_bytes: u64) -> Result<Pass, PutError> {
        let units = u32::try_from(size_bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        // What is larger than the whole bound takes all of it and goes alone.
        let units = units.clamp(1, self.units_max_count);
        let slot = Arc::clone(&self.slots)
            .acquire_owned()
            .await
            .map_err(|_| PutError::Closed)?;
        let units = Arc::clone(&self.units)
            .acquire_many_owned(units)
            .await
            .map_err(|_| PutError::Closed)?;
        Ok(Pass {
            _slot: slot,
            _units: units,
        })
    }

    /// Waits for a core: hashing and compressing more puts at once than there are cores only costs memory.
    pub(crate) async fn core(&self) -> Result<OwnedSemaphorePermit, PutError> {
        Arc::clone(&self.cores)
            .acquire_owned()
            .await
            .map_err(|_| PutError::Closed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::task::Poll;

    use super::*;

    async fn enters(gate: &Gate, size_bytes: u64) -> Option<Pass> {
        let entering = gate.enter(size_bytes);
        tokio::pin!(entering);
        std::future::poll_fn(|context| match entering.as_mut().poll(context) {
            Poll::Ready(pass) => Poll::Ready(pass.ok()),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    #[tokio::test]
    async fn count_and_bytes_are_both_bounds_and_the_largest_goes_alone() {
        let mut options = StoreOptions::new("x");
        options.waiting_max_count = 2;
        options.waiting_max_size_bytes = 10 * 1_024;
        let gate = Gate::new(&options);
        let first = enters(&gate, 1).await.unwrap();
        let second = enters(&gate, 1).await.unwrap();
        assert!(enters(&gate, 1).await.is_none(), "two puts are the bound");
        drop(first);
        assert!(
            enters(&gate, 1 << 40).await.is_none(),
            "the largest needs all bytes"
        );
        drop(second);
        let alone = enters(&gate, 1 << 40).await.unwrap();
        assert!(
            enters(&gate, 1).await.is_none(),
            "no bytes are left beside it"
        );
        drop(alone);
        assert!(enters(&gate, 10 * 1_024).await.is_some());
    }
}
