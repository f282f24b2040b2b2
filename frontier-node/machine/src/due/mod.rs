//! What time makes due, in a bounded slice at the start of every entry.

mod endings;
mod expire;
mod idle;
mod wake;
