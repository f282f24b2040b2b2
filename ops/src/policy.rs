//! Giving shards a crawl's policy.

use crate::output::CommandError;
use crate::patience::MayPass;
use client::{CallError, Frontier, RouterError};
use proto::frontier_v1 as pb;

/// Why a shard has not the policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The call failed.
    #[error("shard {shard} does not take the policy: {error}")]
    Call {
        /// The shard.
        shard: u64,
        /// What its leader said.
        error: CallError,
    },
    /// The shard refused it, for good.
    #[error("shard {shard} refuses the policy: {reason}")]
    Refused {
        /// The shard.
        shard: u64,
        /// Why.
        reason: String,
    },
    /// Which shards there are now is not to be learnt.
    #[error("the shards cannot be listed: {0}")]
    Map(#[from] RouterError),
}

impl MayPass for PolicyError {
    fn may_pass(&self) -> bool {
        match self {
            Self::Call { error, .. } => error.is_retryable(),
            Self::Refused { .. } => false,
            Self::Map(error) => error.may_pass(),
        }
    }
}

impl PolicyError {
    /// As a command's own end.
    pub fn into_command(self) -> CommandError {
        CommandError::Message(self.to_string())
    }
}

/// Gives one shard the policy.
pub async fn set(
    frontier: &dyn Frontier,
    shard: u64,
    policy: pb::CrawlPolicy,
) -> Result<(), PolicyError> {
    let request = pb::SetPolicyRequest {
        shard,
        policy: Some(pb::set_policy_request::Policy::Crawl(policy)),
    };
    let answer = frontier.set_policy(request).await;
    let reason = answer
        .map_err(|error| PolicyError::Call { shard, error })?
        .refused_reason;
    if reason.is_empty() {
        Ok(())
    } else {
        Err(PolicyError::Refused { shard, reason })
    }
}
