//! Exports, steps of a restore and recoveries, each asked of the leader of its shard.

use std::time::Duration;

use proto::admin_v1 as pb;
use tonic::Streaming;
use tonic::transport::Channel;

use super::{Admin, AdminClient, AdminError};
use crate::limits::EXPORT_STALL_MS;

/// Rows of a shard on their way.
#[derive(Debug)]
pub struct Export {
    parts: Streaming<pb::ExportPart>,
}

impl Export {
    /// The next part; `None`: the stream is over, which is right only after its end.
    ///
    /// # Errors
    ///
    /// The stream broke, or nothing came for long: what came before is to be thrown away.
    pub async fn next(&mut self) -> Result<Option<pb::export_part::Part>, AdminError> {
        let longest = Duration::from_millis(EXPORT_STALL_MS);
        match tokio::time::timeout(longest, self.parts.message()).await {
            Ok(Ok(message)) => Ok(message.and_then(|message| message.part)),
            Ok(Err(status)) => Err(AdminError::Unavailable(status.message().to_owned())),
            Err(_) => Err(AdminError::Unavailable(
                "the export stands still".to_owned(),
            )),
        }
    }
}

impl Admin {
    /// What the cluster is founded from, its secret too.
    ///
    /// # Errors
    ///
    /// See [`AdminError`]; so it is for all calls.
    pub async fn founding(&self) -> Result<pb::FoundingResponse, AdminError> {
        self.anywhere(async |mut client: AdminClient<Channel>| {
            client.founding(self.timed(pb::FoundingRequest {})).await
        })
        .await
    }

    /// Where the leader of a shard is, as far as the nodes know.
    ///
    /// # Errors
    ///
    /// Nobody leads it now, or see [`AdminError`].
    pub async fn leader_of(&self, shard: u64) -> Result<String, AdminError> {
        let shards = self.shards().await?.shards;
        let leader = shards.iter().find(|entry| entry.shard == shard);
        let leader = leader.map_or(0, |entry| entry.leader);
        let nodes = self.nodes().await?.nodes;
        let found = nodes.into_iter().find(|node| node.node == leader);
        let address = found.map(|node| node.address).filter(|at| !at.is_empty());
        address.ok_or_else(|| AdminError::Unavailable(format!("nobody leads shard {shard} now")))
    }

    /// Begins an export at its shard's leader.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn export(&self, request: pb::ExportRequest) -> Result<Export, AdminError> {
        let leader = self.leader_of(request.shard).await?;
        // Without a deadline: it takes as long as the shard is large.
        let call = async |mut client: AdminClient<Channel>| client.export(request).await;
        let parts = self.at(&leader, &call).await?;
        Ok(Export { parts })
    }

    /// One step of a restore at its shard's leader, or a look.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn restore_shard(
        &self,
        leader: &str,
        request: &pb::RestoreShardRequest,
    ) -> Result<pb::RestoreShardResponse, AdminError> {
        let call = async |mut client: AdminClient<Channel>| {
            client.restore_shard(self.timed(request.clone())).await
        };
        self.at(leader, &call).await
    }

    /// Begins a recovery of a shard at its leader, or goes on with it.
    ///
    /// # Errors
    ///
    /// See [`AdminError`].
    pub async fn recover_shard(
        &self,
        request: pb::RecoverShardRequest,
    ) -> Result<pb::RecoverShardResponse, AdminError> {
        let leader = self.leader_of(request.shard).await?;
        let call = async |mut client: AdminClient<Channel>| {
            client.recover_shard(self.timed(request)).await
        };
        self.at(&leader, &call).await
    }
}
