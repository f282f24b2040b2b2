//! Clusters of real processes: nodes, a fetcher, a fake web, spoken to over gRPC.
//!
//! | file | what it holds |
//! |---|---|
//! | `process` | one child: its ready line, its log, its end |
//! | `nodes` | the nodes of one cluster: addresses, directories, command lines |
//! | `fetching` | the fetcher's command line, and the web it crawls |
//! | `talk` | policy, seeds, leaders, counters, URLs, over gRPC |
//! | `offering` | URLs offered all the while, and which were acknowledged |
//! | `judge` | what the web saw and what the nodes say, against the promises |
//! | `backup_refusals`, `backup_restore`, `ctl`, `ctl_data`, `ctl_shape`, `directories`, `early_callers`, `joining`, `killed_parent`, `lost_copies`, `lost_store`, `quorum_lost`, `refusals`, `resources`, `split_parent_killed`, `unheard`, `unsafe_recovery` | tests |

mod backup_refusals;
mod backup_restore;
mod ctl;
mod ctl_data;
mod ctl_shape;
mod directories;
mod early_callers;
mod fetching;
mod joining;
mod judge;
mod killed_parent;
mod lost_copies;
mod lost_store;
mod nodes;
mod offering;
mod process;
mod quorum_lost;
mod refusals;
mod resources;
mod split_parent_killed;
mod talk;
mod unheard;
mod unsafe_recovery;

pub use fetching::{FETCH_TIMEOUT_MS, MIN_DELAY_MS, crawl, fetcher_command, web};
pub use judge::{finish_unbroken, judge_pages, judge_urls, judge_web};
pub use nodes::Nodes;
pub use offering::{OFFERED_CRAWL, Offering};
pub use process::Process;
pub use talk::{CRAWL, Talk};
