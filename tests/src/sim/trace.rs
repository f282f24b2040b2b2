//! Everything that happened, as a hash, with the last events in words and what was found to be broken.

use std::collections::VecDeque;
use std::sync::Mutex;

/// Events kept in words.
const KEPT_EVENTS: usize = 150;
/// Violations kept: the first ones tell what happened.
const KEPT_VIOLATIONS: usize = 8;

/// The trace of one run. Two runs of one seed have the same.
#[derive(Default)]
pub(super) struct Trace {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    now_ms: u64,
    hash: u64,
    events: u64,
    last: VecDeque<String>,
    violations: Vec<String>,
    is_loud: bool,
}

/// What a trace came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceEnd {
    pub(super) hash: u64,
    pub(super) events: u64,
    pub(super) violations: Vec<String>,
    pub(super) last: Vec<String>,
}

impl Inner {
    fn mix(&mut self, number: u64) {
        self.hash = (self.hash ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
    }
}

impl Trace {
    /// An empty trace, which prints its events if asked.
    pub(super) fn new(is_loud: bool) -> Self {
        let trace = Self::default();
        trace.inner.lock().unwrap().is_loud = is_loud;
        trace
    }

    /// True time goes on.
    pub(super) fn at(&self, now_ms: u64) {
        self.inner.lock().unwrap().now_ms = now_ms;
    }

    /// True time, ms.
    pub(super) fn now_ms(&self) -> u64 {
        self.inner.lock().unwrap().now_ms
    }

    /// Something small and frequent happened.
    pub(super) fn mark(&self, numbers: [u64; 4]) {
        let mut inner = self.inner.lock().unwrap();
        inner.events += 1;
        let now_ms = inner.now_ms;
        if inner.is_loud {
            println!("MARK {now_ms} {numbers:?}");
        }
        inner.mix(now_ms);
        numbers.into_iter().for_each(|number| inner.mix(number));
    }

    /// Something happened that a reader wants to see.
    pub(super) fn event(&self, text: impl Into<String>) {
        let mut inner = self.inner.lock().unwrap();
        let text = format!("{:>9} {}", inner.now_ms, text.into());
        inner.events += 1;
        for part in text.as_bytes().chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            inner.mix(u64::from_le_bytes(number));
        }
        if inner.is_loud {
            println!("{text}");
        }
        if inner.last.len() == KEPT_EVENTS {
            inner.last.pop_front();
        }
        inner.last.push_back(text);
    }

    /// A promise is broken.
    pub(super) fn violation(&self, text: impl Into<String>) {
        let text = text.into();
        self.event(format!("BROKEN {text}"));
        let mut inner = self.inner.lock().unwrap();
        if inner.violations.len() < KEPT_VIOLATIONS {
            let text = format!("at {} ms: {text}", inner.now_ms);
            inner.violations.push(text);
        }
    }

    /// Whether anything is broken.
    pub(super) fn is_broken(&self) -> bool {
        !self.inner.lock().unwrap().violations.is_empty()
    }

    /// What it came to.
    pub(super) fn end(&self) -> TraceEnd {
        let inner = self.inner.lock().unwrap();
        TraceEnd {
            hash: inner.hash,
            events: inner.events,
            violations: inner.violations.clone(),
            last: inner.last.iter().cloned().collect(),
        }
    }
}
