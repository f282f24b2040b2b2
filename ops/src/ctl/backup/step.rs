//! One call that is tried again while its shard has no leader.

use super::super::ask::End;
use crate::output::CommandError;
use crate::patience::{MayPass, Patience};
use client::{Admin, AdminError};
use proto::admin_v1 as pb;

/// Why a copy of rows did not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    /// The cluster.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// A file.
    #[error(transparent)]
    File(#[from] CommandError),
}

impl MayPass for CopyError {
    fn may_pass(&self) -> bool {
        matches!(self, Self::Admin(error) if error.may_pass())
    }
}

impl From<CopyError> for End {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Admin(error) => error.into(),
            CopyError::File(error) => Self::Failed(error),
        }
    }
}

/// The shards of a new cluster, each at its leader.
pub(super) struct Target<'a> {
    admin: &'a Admin,
    shard: u64,
    restore: u64,
    /// Where its leader was last.
    leader: Option<String>,
}

impl<'a> Target<'a> {
    pub(super) const fn new(admin: &'a Admin, shard: u64, restore: u64) -> Self {
        Self {
            admin,
            shard,
            restore,
            leader: None,
        }
    }

    /// A look at how far its restore is.
    pub(super) async fn look(&mut self) -> Result<pb::RestoreShardResponse, End> {
        self.call(None).await
    }

    /// A step of its restore; what is refused ends it.
    pub(super) async fn step(
        &mut self,
        step: pb::restore_shard_request::Step,
    ) -> Result<pb::RestoreShardResponse, End> {
        let answer = self.call(Some(step)).await?;
        if answer.refused.is_empty() {
            return Ok(answer);
        }
        let (shard, reason) = (self.shard, answer.refused);
        Err(End::Refused(format!("shard {shard}: {reason}")))
    }

    async fn call(
        &mut self,
        step: Option<pb::restore_shard_request::Step>,
    ) -> Result<pb::RestoreShardResponse, End> {
        let request = pb::RestoreShardRequest {
            restore: self.restore,
            shard: self.shard,
            step,
        };
        let mut patience = Patience::new();
        let answer = patience.until(async || self.once(&request).await).await;
        Ok(answer?)
    }

    async fn once(
        &mut self,
        request: &pb::RestoreShardRequest,
    ) -> Result<pb::RestoreShardResponse, AdminError> {
        let leader = match self.leader.take() {
            Some(leader) => leader,
            None => self.admin.leader_of(self.shard).await?,
        };
        let answer = self.admin.restore_shard(&leader, request).await?;
        self.leader = Some(leader);
        Ok(answer)
    }

    /// A recovery: one slice after the other until all known leases have ended. How long hosts wait.
    pub(super) async fn recover(&self) -> Result<u64, End> {
        let request = pb::RecoverShardRequest {
            recovery: self.restore,
            shard: self.shard,
            adopt: false,
        };
        loop {
            let mut patience = Patience::new();
            let answer = patience.until(async || self.admin.recover_shard(request).await);
            let answer = answer.await?;
            if answer.leases_left == 0 {
                return Ok(answer.wait_ms);
            }
        }
    }
}
