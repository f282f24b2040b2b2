//! This node's replica of the group: proposals under one leadership, proof that a leadership lasts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use raftlog::{
    Engine, Group, GroupConfig, GroupError, Leadership, LeadershipToken, MachineFactory, NodeId,
    ProposeError, StateMachine,
};
use shard_map::{Accepted, Command, GROUP_ZERO};

use super::map_cell::MapCell;
use super::map_state::{MapState, initial_rows};
use super::verdict;
use crate::limits::{COMMIT_TIMEOUT_MS, MAP_COMMAND_SIZE_BYTES};

/// Why a change of the map was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The map does not allow it. Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// This node does not lead group 0, or not under that leadership any more. Nothing was changed.
    #[error("this node does not lead group 0")]
    NotLeader(Option<NodeId>),
    /// The command is too large. Nothing was changed.
    #[error("a command of {0} bytes is over the limit of {MAP_COMMAND_SIZE_BYTES}")]
    TooLarge(usize),
    /// Group 0 cannot answer now; the outcome may be unknown. The same command may be sent again.
    #[error("group 0: {0}")]
    Unavailable(String),
}

/// This node's replica of group 0.
pub(crate) struct MapGroup {
    group: Group,
}

impl MapGroup {
    /// Creates the group where it is missing, on one of its founding voters, in a directory of before too, and opens it.
    /// `None`: the replica was removed.
    pub(super) async fn found(
        engine: &Engine,
        voters: &BTreeSet<NodeId>,
        cell: Arc<MapCell>,
    ) -> Result<Option<Self>, GroupError> {
        let config = GroupConfig {
            group_id: GROUP_ZERO,
            members: voters.clone(),
            initial_rows: initial_rows(),
        };
        match engine.create_group(config).await {
            Ok(()) => Self::open(engine, cell).await.map(Some),
            Err(GroupError::Removed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an empty replica, which the leader feeds, and opens it.
    pub(super) async fn join(
        engine: &Engine,
        replica: NodeId,
        cell: Arc<MapCell>,
    ) -> Result<Self, GroupError> {
        engine.create_replica(GROUP_ZERO, replica).await?;
        Self::open(engine, cell).await
    }

    /// Opens the replica that is there.
    pub(super) async fn open(engine: &Engine, cell: Arc<MapCell>) -> Result<Self, GroupError> {
        let db = engine.state();
        let factory: MachineFactory = Box::new(move || {
            MapState::open(db.clone(), Arc::clone(&cell))
                .map(|state| Box::new(state) as Box<dyn StateMachine>)
        });
        let group = engine.open_group(GROUP_ZERO, factory).await?;
        Ok(Self { group })
    }

    /// Its id in the group.
    pub(crate) fn replica(&self) -> NodeId {
        self.group.replica()
    }

    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn leadership(&self) -> Leadership {
        *self.group.leadership().borrow()
    }

    /// Applies a command under one leadership.
    ///
    /// # Errors
    ///
    /// See [`MapError`].
    pub(crate) async fn propose(
        &self,
        token: LeadershipToken,
        command: &Command,
    ) -> Result<Accepted, MapError> {
        let bytes = Bytes::from(command.to_bytes());
        if bytes.len() > MAP_COMMAND_SIZE_BYTES {
            return Err(MapError::TooLarge(bytes.len()));
        }
        let limit = Duration::from_millis(COMMIT_TIMEOUT_MS);
        let reply = match tokio::time::timeout(limit, self.group.propose(token, bytes)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(ProposeError::NotLeader { hint })) => return Err(MapError::NotLeader(hint)),
            Ok(Err(error)) => return Err(MapError::Unavailable(error.to_string())),
            Err(_) => {
                let words = "no commit in time; the outcome is unknown";
                return Err(MapError::Unavailable(words.to_owned()));
            }
        };
        verdict::decode(&reply.bytes)
            .ok_or_else(|| MapError::Unavailable("the reply makes no sense".to_owned()))?
            .map_err(MapError::Refused)
    }

    /// Applies a command under the leadership held now.
    ///
    /// # Errors
    ///
    /// See [`MapError`].
    pub(crate) async fn propose_here(&self, command: &Command) -> Result<Accepted, MapError> {
        let leadership = self.leadership();
        let token = leadership.token();
        let token = token.ok_or(MapError::NotLeader(leadership.leader))?;
        self.propose(token, command).await
    }

    /// Whether this node leads group 0 at some moment after the call: its copy is the newest then. Waits so long at most.
    pub(crate) async fn prove(&self, longest: Duration) -> bool {
        if !self.leadership().is_leader {
            return false;
        }
        let confirmed = tokio::time::timeout(longest, self.group.confirm_leadership()).await;
        matches!(confirmed, Ok(Ok(_)))
    }
}
