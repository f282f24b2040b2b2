//! A machine that counts: each entry names a key, whose row holds how often it was applied and at which index last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::{
    Applied, Committed, KeyRange, MachineError, MachineFactory, RowBatch, StateDb, StateMachine,
};

/// What a test sees of a machine's life.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) made: AtomicU64,
    pub(super) applied: AtomicU64,
    pub(super) committed: AtomicU64,
    pub(super) restored: AtomicU64,
}

/// Counts per key under one prefix. The entry `fail` is an error, `panic` panics.
pub(super) struct CounterMachine {
    prefix: u8,
    state: StateDb,
    seen: Arc<Seen>,
}

/// A row's value: count and last index.
pub(super) fn parse(value: &[u8]) -> (u64, u64) {
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    (number(&value[..8]), number(&value[8..16]))
}

/// The row of a key.
pub(super) fn row_key(prefix: u8, key: &[u8]) -> Vec<u8> {
    [&[prefix], key].concat()
}

impl StateMachine for CounterMachine {
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        let mut overlay = std::collections::BTreeMap::new();
        let mut replies = Vec::new();
        for entry in entries {
            if entry.payload.as_ref() == b"fail" {
                return Err(MachineError::new("told to fail"));
            }
            assert!(entry.payload.as_ref() != b"panic", "told to panic");
            // The key is what stands before a colon; the rest is ballast.
            let key = entry
                .payload
                .split(|byte| *byte == b':')
                .next()
                .unwrap_or_default();
            let key = row_key(self.prefix, key);
            let stored = self.state.get(&key).map_err(MachineError::new)?;
            let known = overlay.get(&key).cloned().or(stored);
            let (count, last) = known.map_or((0, 0), |value: Vec<u8>| parse(&value));
            if last >= entry.index {
                return Err(MachineError::new("applied twice"));
            }
            let value = [(count + 1).to_be_bytes(), entry.index.to_be_bytes()].concat();
            overlay.insert(key, value);
            replies.push(Bytes::copy_from_slice(&(count + 1).to_be_bytes()));
            self.seen.applied.fetch_add(1, Ordering::SeqCst);
        }
        let mut rows = RowBatch::new();
        overlay
            .into_iter()
            .for_each(|(key, value)| rows.put(key, value));
        Ok(Applied {
            rows,
            replies,
            founded: Vec::new(),
        })
    }

    fn committed(&mut self) {
        self.seen.committed.fetch_add(1, Ordering::SeqCst);
    }

    fn restored(&mut self) -> Result<(), MachineError> {
        self.seen.restored.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        vec![KeyRange::prefix(&[self.prefix])]
    }
}

/// Makes counter machines whose rows begin with `prefix`.
pub(super) fn factory(state: StateDb, prefix: u8, seen: Arc<Seen>) -> MachineFactory {
    Box::new(move || {
        seen.made.fetch_add(1, Ordering::SeqCst);
        let (state, seen) = (state.clone(), Arc::clone(&seen));
        Ok(Box::new(CounterMachine {
            prefix,
            state,
            seen,
        }))
    })
}
