//! Read-only questions: over rows and memory, without changing either.

mod due;
mod host;
mod hosts;
mod listing;
mod settings;
mod split_points;
mod status;
mod url;

pub use host::{AuthorityRecord, BudgetRecord, HostRecord, LaneRecord, LeaseRecord};
pub use hosts::HostListing;
pub use listing::{ListedUrl, Listing};
pub use settings::{CrawlRecord, ShardSettings};
pub use split_points::{Load, SplitPoint};
pub use status::{ConservationTerms, Outbox, ShardStatus};
pub use url::{UrlRecord, UrlState};
