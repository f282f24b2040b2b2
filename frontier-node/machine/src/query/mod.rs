//! Read-only questions: over rows and memory, without changing either.

mod due;
mod host;
mod listing;
mod split_points;
mod status;
mod url;

pub use host::{AuthorityRecord, HostRecord};
pub use listing::{ListedUrl, Listing};
pub use split_points::{Load, SplitPoint};
pub use status::{ConservationTerms, Outbox, ShardStatus};
pub use url::{UrlRecord, UrlState};
