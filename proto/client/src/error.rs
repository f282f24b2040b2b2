//! Why a whole call failed. Failures of single items are results, not errors.

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// This replica does not lead the shard.
    #[error("not the shard's leader{}", hint(.leader_address))]
    NotLeader {
        /// Where the leader is, if known; empty otherwise.
        leader_address: String,
    },
    /// The shard is not known here, or does not own what is asked of it by a map that is newer than the caller's.
    #[error("the shard is not here; the shard map is at version {map_version}")]
    WrongShard {
        /// Version of the map that says so.
        map_version: u64,
    },
    /// The shard is on other nodes. Nothing was done.
    #[error("the shard is on other nodes{}", hints(.replica_addresses))]
    NotHere {
        /// Version of the map that says so.
        map_version: u64,
        /// `host:port` of those nodes, as far as is known.
        replica_addresses: Vec<String>,
    },
    /// A limit of the request or of the server.
    #[error("over the limit {limit}: {value} of at most {max}")]
    OverLimit {
        /// Name of the limit.
        limit: String,
        /// What was asked.
        value: u64,
        /// What is allowed.
        max: u64,
        /// When to try again, ms; 0 = not as it is.
        retry_after_ms: u64,
    },
    /// A lease call whose number is older than the newest answered.
    #[error("a newer call of this session was answered: number {newest_number}")]
    StaleCall {
        /// The newest number answered.
        newest_number: u64,
    },
    /// The request is malformed at one item (or as a whole: index 0).
    #[error("item {index} is invalid: {reason}")]
    Invalid {
        /// Index of the item.
        index: u32,
        /// What is wrong with it.
        reason: String,
    },
    /// The shard cannot answer now: no quorum, stopping, disk full, outcome unknown.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
        /// When to try again, ms; 0 = any time.
        retry_after_ms: u64,
    },
}

impl CallError {
    /// Whether the same call may succeed later or elsewhere.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::NotLeader { .. }
            | Self::WrongShard { .. }
            | Self::NotHere { .. }
            | Self::Unavailable { .. } => true,
            Self::OverLimit { retry_after_ms, .. } => *retry_after_ms > 0,
            Self::StaleCall { .. } | Self::Invalid { .. } => false,
        }
    }
}

fn hints(addresses: &[String]) -> String {
    hint(&addresses.join(", "))
}

fn hint(address: &str) -> String {
    if address.is_empty() {
        String::new()
    } else {
        format!("; try {address}")
    }
}
