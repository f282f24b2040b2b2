//! One GET at a time, over reqwest, with everything automatic turned off: no redirects, cookies, proxies, referers, retries, and no
//! connection used twice (hyper would silently send a request again on a reused connection that died).
//!
//! | file | what |
//! |---|---|
//! | `client` | [`HttpClient`]: open a request, read its head |
//! | `body` | [`Body`]: the pieces of a body within deadlines, caps and rate, decoded |
//! | `target` | where a URL is connected to: literals, resolver answers, overrides, all vetted |
//! | `connect` | what reqwest asks us while it connects: pinned addresses, the fence at the connection |
//! | `tls` | certificates and protocols |
//! | `error`, `classify` | why a fetch failed |
//!
//! # What reqwest does not let us do
//!
//! A connection cannot be aborted by reset, and its first byte cannot be stamped. So: `TCP_USER_TIMEOUT` is at most the fetch timeout,
//! and the kernel keeps unacknowledged bytes of a request no longer than that after the fetch is over, which the back-off of
//! a fetch without response covers; and the *end* of the response's head stands for its first byte, which lengthens a wait,
//! never shortens it. The fence is asked when the connection stands, right before the request is written.

mod body;
mod classify;
mod client;
mod connect;
mod error;
mod target;
mod tls;

pub use body::{Body, BodyCaps};
pub use client::{Head, HttpClient, Opened, Request};
pub use error::{BuildError, FetchError};
