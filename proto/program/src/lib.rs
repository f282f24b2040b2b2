//! What every program of Escapement does alike.
//!
//! | file | what |
//! |---|---|
//! | `logging` | logs go to stderr, and nobody may be there to read it |
//! | `stderr` | writing there without ever failing |
//! | `parent` | a process of a drill ends with the process that started it |

mod logging;
mod parent;
mod stderr;

pub use logging::log_to_stderr;
pub use parent::{end_with_parent, ends_with_this};
pub use stderr::say;
