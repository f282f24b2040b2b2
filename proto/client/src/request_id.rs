//! Request ids: one for each call, the same for all its tries, so that the logs of both sides can be laid side by side.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Metadata key of a request's id.
pub const REQUEST_ID_KEY: &str = "x-request-id";

tokio::task_local! {
    static CURRENT: Arc<str>;
}

/// Makes the ids of one process: its name and a number.
#[derive(Debug)]
pub(crate) struct RequestIds {
    origin: String,
    next: AtomicU64,
}

impl RequestIds {
    /// `origin` names the process; an empty one gets a random name.
    pub(crate) fn new(origin: &str) -> Self {
        let origin = if origin.is_empty() {
            format!("{:08x}", RandomState::new().hash_one(0_u8) as u32)
        } else {
            origin
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .take(32)
                .collect()
        };
        Self {
            origin,
            next: AtomicU64::new(1),
        }
    }

    pub(crate) fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.origin).into()
    }
}

/// Runs a call under an id.
pub(crate) fn under<F: Future>(id: Arc<str>, call: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(id, call)
}

/// The id of the call that this task is making.
pub(crate) fn current() -> Option<Arc<str>> {
    CURRENT.try_with(Arc::clone).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ids_are_numbered_and_hold_for_a_call_only() {
        let ids = RequestIds::new("ab cd\r\n");
        let first = ids.next();
        assert_eq!((&*first, &*ids.next()), ("abcd-1", "abcd-2"));
        assert_eq!(
            under(first, async { current() }).await.as_deref(),
            Some("abcd-1")
        );
        assert_eq!(current(), None);
        assert_ne!(RequestIds::new("").next(), RequestIds::new("").next());
    }
}
