//! `escapement crawl`: one polite crawl in one process. Frontier, fetcher and page store live in one directory; run again
//! on the same directory it goes on where it was.

mod args;
mod end;
mod progress;
mod run;
mod seeds;
mod settings;
mod summary;

pub use args::Args;
pub use run::run;
pub use seeds::gather as gather_seeds;
pub use settings::{CRAWL, Settings};
pub use summary::conserved;
