//! What stays of a group when its instance is opened again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use super::instance::Instance;
use super::reads::ReadWaiter;
use super::state_impl::StateStore;
use crate::errors::StopReason;
use crate::ids::{GroupId, Leadership, NodeId};
use crate::limits::{MAX_OUTSTANDING_BYTES, MAX_OUTSTANDING_PROPOSALS};
use crate::log::GroupLog;
use crate::machine::MachineFactory;
use crate::raft_types::TypeConfig;
use crate::status::GroupState;

pub(crate) type RaftHandle = openraft::Raft<TypeConfig, StateStore>;

/// A Raft instance at work, with its stores.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) raft: RaftHandle,
    pub(crate) instance: Arc<Instance>,
    pub(crate) log: Arc<GroupLog>,
}

/// One group of this node.
pub(crate) struct GroupSlot {
    pub(crate) group_id: GroupId,
    /// The replica here, for as long as this slot lives.
    pub(crate) replica: NodeId,
    pub(crate) factory: Arc<MachineFactory>,
    pub(crate) running: RwLock<Option<Running>>,
    pub(crate) state: RwLock<GroupState>,
    pub(crate) leadership: watch::Sender<Leadership>,
    /// Proposals that may be added, in number and in KiB.
    pub(crate) proposals: Arc<Semaphore>,
    pub(crate) proposal_kib: Arc<Semaphore>,
    pub(crate) reads: mpsc::Sender<ReadWaiter>,
    pub(crate) stop_requested: AtomicBool,
    pub(crate) stop: Notify,
    /// The supervisor has ended.
    pub(crate) ended: watch::Sender<bool>,
    /// An instance is open, or being opened or closed: the databases must stay.
    busy: AtomicBool,
}

impl GroupSlot {
    pub(crate) fn new(
        group_id: GroupId,
        replica: NodeId,
        factory: MachineFactory,
        reads: mpsc::Sender<ReadWaiter>,
    ) -> Self {
        Self {
            group_id,
            replica,
            factory: Arc::new(factory),
            running: RwLock::new(None),
            state: RwLock::new(GroupState::Running),
            leadership: watch::Sender::new(Leadership::default()),
            proposals: Arc::new(Semaphore::new(MAX_OUTSTANDING_PROPOSALS)),
            proposal_kib: Arc::new(Semaphore::new(MAX_OUTSTANDING_BYTES / 1024)),
            reads,
            stop_requested: AtomicBool::new(false),
            stop: Notify::new(),
            ended: watch::Sender::new(false),
            busy: AtomicBool::new(true),
        }
    }

    /// The instance, or why there is none.
    pub(crate) fn running(&self) -> Result<Running, StopReason> {
        self.running
            .read()
            .clone()
            .ok_or_else(|| self.stop_reason())
    }

    fn stop_reason(&self) -> StopReason {
        match &*self.state.read() {
            GroupState::Running => StopReason::Raft("being opened".to_owned()),
            GroupState::Recovering(reason) | GroupState::Stopped(reason) => reason.clone(),
        }
    }

    /// An instance is at work.
    pub(crate) fn set_running(&self, running: Running) {
        *self.state.write() = GroupState::Running;
        *self.running.write() = Some(running);
    }

    /// No instance is at work.
    pub(crate) fn set_down(&self, state: GroupState) {
        *self.state.write() = state;
        *self.running.write() = None;
        self.leadership.send_modify(|known| {
            known.is_leader = false;
            known.leader = None;
        });
    }

    pub(crate) fn request_stop(&self) {
        self.stop_requested.store(true, Ordering::SeqCst);
        self.stop.notify_one();
    }

    /// Waits until the supervisor has ended.
    pub(crate) async fn wait_ended(&self) {
        let mut ended = self.ended.subscribe();
        let _sender_gone = ended.wait_for(|ended| *ended).await;
    }

    pub(crate) fn is_stop_requested(&self) -> bool {
        self.stop_requested.load(Ordering::SeqCst)
    }

    pub(crate) fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::SeqCst);
    }

    /// Whether the databases must stay open for this group.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst)
    }
}
