//! The group: its copy of the map, proposals under one leadership, proof that a leadership lasts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use raftlog::{
    Engine, Group, GroupConfig, GroupError, Leadership, LeadershipToken, MachineFactory, NodeId,
    ProposeError, StateMachine,
};
use shard_map::{Accepted, Command, GROUP_ZERO};
use tokio::sync::watch;

use super::map_cell::{MapCell, MapView};
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

/// Group 0 on this node.
pub(crate) struct MapGroup {
    group: Group,
    cell: Arc<MapCell>,
}

impl MapGroup {
    /// Creates the group where it is missing, in a directory of before too, and opens it.
    pub(crate) async fn start(
        engine: &Engine,
        replica: NodeId,
        voters: &BTreeSet<NodeId>,
    ) -> Result<Self, GroupError> {
        if voters.contains(&replica) {
            let config = GroupConfig {
                group_id: GROUP_ZERO,
                members: voters.clone(),
                initial_rows: initial_rows(),
            };
            engine.create_group(config).await?;
        } else {
            engine.create_replica(GROUP_ZERO, replica).await?;
        }
        let (db, cell) = (engine.state(), Arc::new(MapCell::default()));
        let there = Arc::clone(&cell);
        let factory: MachineFactory = Box::new(move || {
            MapState::open(db.clone(), Arc::clone(&there))
                .map(|state| Box::new(state) as Box<dyn StateMachine>)
        });
        let group = engine.open_group(GROUP_ZERO, factory).await?;
        Ok(Self { group, cell })
    }

    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// This node's copy.
    pub(crate) fn view(&self) -> MapView {
        let mut view = self.cell.view();
        if view.applied_index == 0 {
            // Before its first entry an instance knows no index; the log does.
            view.applied_index = self.group.status().applied_index;
        }
        view
    }

    /// Whether this node's copy has a map.
    pub(crate) fn is_founded(&self) -> bool {
        self.cell.view().map.is_founded()
    }

    /// Each change of this node's copy.
    pub(crate) fn watch(&self) -> watch::Receiver<MapView> {
        self.cell.watch()
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
