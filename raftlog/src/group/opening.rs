//! Opening a group's instance: load, replay, and for a group without other voters the election.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::FlushGuard;
use super::instance::{ApplyError, Instance};
use super::slot::{GroupSlot, RaftHandle, Running};
use super::state_impl::StateStore;
use crate::engine::Shared;
use crate::errors::{GroupError, StopReason};
use crate::fault::Rule;
use crate::health::classify;
use crate::ids::NodeId;
use crate::log::{GroupLog, LogStore};
use crate::network::NetworkFactory;
use crate::raft_types::TypeConfig;

impl FlushGuard for Instance {
    fn ensure_flushed(&self, index: u64) -> BoxFuture<'_, std::io::Result<()>> {
        Box::pin(async move {
            let covers = || {
                let flushed = self.flushed.lock().log_id;
                flushed.is_some_and(|flushed| flushed.index >= index)
            };
            if !covers() {
                let flushed = self.shared.flusher.flush().await;
                flushed.map_err(std::io::Error::other)?;
            }
            if covers() {
                return Ok(());
            }
            Err(std::io::Error::other(format!(
                "the log may not be purged to {index}: the state is not flushed so far"
            )))
        })
    }
}

/// Opens an instance: what is committed is applied again before this returns.
pub(crate) async fn open_instance(
    slot: &Arc<GroupSlot>,
    shared: &Arc<Shared>,
) -> Result<Running, GroupError> {
    let group_id = slot.group_id;
    // It may have been removed since the slot was made.
    if shared.replica_of(group_id).await? != slot.replica {
        return Err(GroupError::Conflict(group_id));
    }
    let (instance, log) = load(slot, shared).await?;
    shared.flusher.register(&instance);
    let error = match start(shared, instance, log).await {
        Ok(running) => match begin(&running).await {
            Ok(()) => return Ok(running),
            Err(error) => {
                let _already_ended = running.raft.shutdown().await;
                error
            }
        },
        Err(error) => error,
    };
    shared.flusher.unregister(group_id);
    Err(error)
}

/// Gives a sole voter the lead.
async fn begin(running: &Running) -> Result<(), GroupError> {
    let group_id = running.instance.group_id;
    let storage = |reason: String| GroupError::Storage { group_id, reason };
    let me = running.instance.replica;
    let voters = running.voters();
    if voters.len() == 1 && voters.contains(&me) {
        // Nobody else can lead, so there is nothing to wait for.
        running
            .raft
            .trigger()
            .elect(false)
            .await
            .map_err(|error| storage(error.to_string()))?;
    }
    Ok(())
}

async fn load(
    slot: &Arc<GroupSlot>,
    shared: &Arc<Shared>,
) -> Result<(Arc<Instance>, Arc<GroupLog>), GroupError> {
    let group_id = slot.group_id;
    let storage = |reason: String| GroupError::Storage { group_id, reason };
    let (shared_there, slot_there) = (Arc::clone(shared), Arc::clone(slot));
    let work = move || {
        let instance = Instance::load(
            group_id,
            slot_there.replica,
            &shared_there,
            &slot_there.factory,
        );
        let log = GroupLog::load(
            group_id,
            &shared_there.log_cell,
            &shared_there.syncer,
            &shared_there.read_lanes,
            &shared_there.options,
        );
        (instance, log)
    };
    let (instance, log) = shared
        .apply_lanes
        .run(group_id, work)
        .await
        .map_err(|error| storage(error.to_string()))?;
    let instance = instance.map_err(|error| match error {
        ApplyError::Machine(error) => GroupError::Machine { group_id, error },
        other => storage(other.to_string()),
    })?;
    let log = log.map_err(|error| storage(error.to_string()))?;
    let applied = instance.applied.lock().log_id;
    log.drop_replaced(applied)
        .await
        .map_err(|error| storage(error.to_string()))?;
    Ok((instance, log))
}

async fn start(
    shared: &Arc<Shared>,
    instance: Arc<Instance>,
    log: Arc<GroupLog>,
) -> Result<Running, GroupError> {
    let group_id = instance.group_id;
    let guard: Option<Arc<dyn FlushGuard>> =
        (!shared.is_off(Rule::PurgeBelowFlush)).then(|| instance.clone() as Arc<dyn FlushGuard>);
    let log_store = LogStore::new(Arc::clone(&log), guard);
    let state_store = StateStore {
        instance: Arc::clone(&instance),
    };
    let network = NetworkFactory {
        group_id,
        transport: Arc::clone(&shared.transport),
        transfers: Arc::clone(&instance.transfers),
        longer_log: Arc::clone(&instance.longer_log),
        sends: Arc::clone(&shared.snapshot_sends),
        purge_due: instance.purge_due.subscribe(),
        append_patience: Duration::from_millis(4 * shared.options.timing.election_max_ms),
    };
    let config = Arc::clone(&shared.raft_config);
    let raft = RaftHandle::new(instance.replica, config, network, log_store, state_store).await;
    let raft = raft.map_err(|error| {
        let stopped = instance.stop.lock().clone();
        match stopped {
            Some(StopReason::Machine(reason)) => GroupError::Machine {
                group_id,
                error: crate::MachineError(reason),
            },
            _ => GroupError::Storage {
                group_id,
                reason: classify(&error).to_string(),
            },
        }
    })?;
    Ok(Running {
        raft,
        instance,
        log,
    })
}

impl Running {
    /// Voters of the newest membership in the log.
    pub(crate) fn voters(&self) -> BTreeSet<NodeId> {
        use openraft::async_runtime::watch::WatchReceiver;
        self.raft
            .metrics()
            .borrow_watched()
            .membership_config
            .voter_ids()
            .collect()
    }

    /// The term in which this replica leads, as far as it knows.
    pub(crate) fn leading_term(&self) -> Option<u64> {
        use openraft::async_runtime::watch::WatchReceiver;
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow_watched();
        (metrics.state == openraft::ServerState::Leader).then_some(metrics.current_term)
    }

    /// Whether the Raft instance has ended, and why.
    pub(crate) fn ended(&self) -> Option<openraft::errors::Fatal<TypeConfig>> {
        use openraft::async_runtime::watch::WatchReceiver;
        self.raft
            .metrics()
            .borrow_watched()
            .running_state
            .clone()
            .err()
    }
}
