//! What time makes due, in a bounded slice at the start of every entry.

mod endings;
mod expire;
mod idle;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod idle_tests;
mod wake;
