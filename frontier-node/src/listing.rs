//! All URLs of a shard in slices, read from this replica: for exports and for judging a crawl.

use client::CallError;
use machine::Listing;

use crate::errors::unavailable;
use crate::limits::LISTING_ROWS;
use crate::node::FrontierNode;

impl FrontierNode {
    /// A slice of a shard's URLs from `cursor` on (empty: from the start); its cursor continues, an empty one ends.
    ///
    /// Without proof of leadership. URLs that change between two slices may be listed twice or not at all.
    ///
    /// # Errors
    ///
    /// The shard is not here, or its rows cannot be read.
    pub async fn list_urls(&self, shard: u64, cursor: Vec<u8>) -> Result<Listing, CallError> {
        let listing = self
            .shared_node()
            .shard(shard)?
            .look(move |machine, rows, _| machine.list_urls(rows, &cursor, LISTING_ROWS))
            .await?;
        listing.map_err(|error| unavailable(error.to_string()))
    }
}
