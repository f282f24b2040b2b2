//! Unsafe recovery: on the stopped directory of a node, groups that lost their quorum for good are made to go on with the replica
//! here alone.
//!
//! Offline, since only then is nothing of it on its way: the replica's log ends with who votes, and behind that a recovery of the
//! clocks, in one write. So the first thing the shard does is to make every host wait for leases that may be lost, and no
//! moment exists in which it serves without having done so.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use machine::command::recover::Recover;
use machine::{Body, Command, Entry};
use prost::Message;
use raftlog::{Engine, EngineOptions, GroupError, NoTransport, NodeId, OpenError};
use shard_map::command::RecoverGroup;
use shard_map::{GROUP_ZERO, ReplicaId};

use crate::identity::{Descriptor, IdentityError, draw};

/// How far the survivor's id is from its old one: the map may have issued some since that this directory knows nothing of.
const RETURNS: u16 = 256;

/// Which groups of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// All, the cluster's own group too.
    All,
    /// These shards.
    Shards(BTreeSet<u64>),
}

/// A group that goes on alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredGroup {
    /// The group; 0: the cluster's own.
    pub group: u64,
    /// Its only voter.
    pub replica: NodeId,
    /// Entries that it goes on from. What others had beyond is lost.
    pub last_index: u64,
}

/// What became of the groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsafeRecovery {
    /// Those that go on.
    pub recovered: Vec<RecoveredGroup>,
    /// Those whose replica here was never fed, so that it has nothing to go on from. Only of all; a named one is an error.
    pub never_fed: Vec<u64>,
}

/// Why nothing, or not all, was recovered. What was is whole; the same may be asked again.
#[derive(Debug, thiserror::Error)]
pub enum UnsafeRecoveryError {
    /// The directory.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// It is no node's.
    #[error("the directory is no node's")]
    NoNode,
    /// Its databases: a node that runs holds them.
    #[error("{0}; the node must be stopped")]
    Open(#[from] OpenError),
    /// A group.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// A shard has no replica here.
    #[error("the directory has no replica of shard {0}")]
    NotHere(u64),
    /// The disk came back to the group too often.
    #[error("the replica ids of group {0} are used up on this disk")]
    UsedUp(u64),
}

/// Makes the replicas of a stopped node's directory the only voters of their groups.
///
/// # Errors
///
/// See [`UnsafeRecoveryError`].
pub async fn recover_unsafe(
    dir: &Path,
    lost: &Lost,
) -> Result<UnsafeRecovery, UnsafeRecoveryError> {
    let descriptor = Descriptor::read(dir)?.ok_or(UnsafeRecoveryError::NoNode)?;
    let options = EngineOptions::new(dir, descriptor.replica);
    let engine = Engine::open(options, Arc::new(NoTransport))?;
    let recovered = recover_groups(&engine, lost).await;
    engine.close().await;
    recovered
}

async fn recover_groups(
    engine: &Engine,
    lost: &Lost,
) -> Result<UnsafeRecovery, UnsafeRecoveryError> {
    let here = engine.created_groups().await?;
    let chosen = match lost {
        Lost::All => here,
        Lost::Shards(shards) => {
            let away = shards.iter().find(|shard| !here.contains(shard));
            if let Some(shard) = away {
                return Err(UnsafeRecoveryError::NotHere(*shard));
            }
            shards.clone()
        }
    };
    let mut plan = Vec::new();
    for group in chosen {
        let own = ReplicaId(engine.replica_here(group).await?);
        let returns = own.returns().checked_add(RETURNS);
        let returns = returns.ok_or(UnsafeRecoveryError::UsedUp(group))?;
        plan.push((
            group,
            ReplicaId::new(own.node(), own.incarnation(), returns),
        ));
    }
    let id = u64::from_be_bytes(draw()?).max(1);
    let mut done = UnsafeRecovery::default();
    // The cluster's own group is the last: it tells of all others.
    plan.sort_by_key(|(group, _)| *group == GROUP_ZERO);
    for (group, replica) in plan {
        let payloads = match group {
            GROUP_ZERO => {
                let shards = done
                    .recovered
                    .iter()
                    .map(|one| told(one.group, one.replica));
                shards.chain([told(GROUP_ZERO, replica.0)]).collect()
            }
            _ => vec![clocks(id)],
        };
        match engine.make_sole_voter(group, replica.0, payloads).await {
            Ok(made) => done.recovered.push(RecoveredGroup {
                group,
                replica: replica.0,
                last_index: made.last_index,
            }),
            Err(GroupError::Invalid { .. }) if *lost == Lost::All => done.never_fed.push(group),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// The entry with which a shard begins: its clocks are set before anything else is done.
fn clocks(id: u64) -> Bytes {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let wall_unix_ms = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    let recover = Command {
        body: Some(Body::Recover(Recover { id })),
    };
    let entry = Entry {
        // Shard time is what the rows say.
        now_ms: 0,
        wall_unix_ms,
        commands: vec![recover],
    };
    entry.encode_to_vec().into()
}

/// The entry of the cluster's own group that tells the map of a recovered one.
fn told(group: u64, replica: NodeId) -> Bytes {
    let recover = RecoverGroup { group, replica };
    let command = shard_map::Command::from(shard_map::Body::RecoverGroup(recover));
    command.to_bytes().into()
}
