//! A shard as the services of this node see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use client::CallError;
use machine::{Body, Command, Machine};
use parking_lot::{Mutex, RwLock};
use prost::Message;
use raftlog::{
    Engine, FaultHook, Group, GroupError, GroupState, Leadership, MachineFactory, NodeId, Rule,
    StateMachine,
};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::call::{Answer, Call};
use super::task::{Leading, Task, ready_hosts};
use super::{Parking, Sessions, filter_scan, pump};
use crate::clock::Clocks;
use crate::cluster::node_number;
use crate::errors::{Hints, cell_error, overloaded, state_error, unavailable};
use crate::known::KnownFilter;
use crate::limits::{
    COMMIT_TIMEOUT_MS, ENTRIES_IN_FLIGHT, QUORUM_PATIENCE_MS, WAITING_CALLS, WAITING_SIZE_BYTES,
};
use crate::metrics::Metrics;
use crate::state::{
    Extent, Forgets, LocalMap, MachineCell, Published, ReplyBoard, ShardParts, ShardState,
    StateRows,
};
use crate::work::Work;

/// What all shards of a node share.
#[derive(Clone)]
pub(crate) struct ShardContext {
    /// This process; each group here has a replica id of its own.
    pub(crate) replica: NodeId,
    /// What this node knows of the shard map.
    pub(crate) map: Arc<LocalMap>,
    pub(crate) clocks: Arc<dyn Clocks>,
    pub(crate) filter: Arc<KnownFilter>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hints: Arc<Hints>,
    /// Bytes of calls that wait.
    pub(crate) waiting_bytes: Arc<Semaphore>,
    /// Reads that block a thread.
    pub(crate) blocking: Arc<Semaphore>,
    /// Where they are done.
    pub(crate) work: Work,
    /// Rules that a test switched off.
    pub(crate) faults: Option<Arc<dyn FaultHook>>,
    /// Ends all tasks of the node, or of one of its shards.
    pub(crate) stop: CancellationToken,
}

impl ShardContext {
    /// Whether a test switched a rule off.
    pub(crate) fn is_off(&self, rule: Rule) -> bool {
        self.faults
            .as_ref()
            .is_some_and(|faults| faults.is_off(rule))
    }

    /// Where a replica's node is; empty when unknown.
    pub(crate) fn address(&self, replica: NodeId) -> String {
        let said = self.hints.address(Some(replica));
        if !said.is_empty() {
            return said;
        }
        let by_map = self.map.address(node_number(replica));
        by_map.unwrap_or_default()
    }

    /// Where a shard is by the map: the addresses that are known.
    pub(crate) fn replica_addresses(&self, shard: u64) -> Vec<String> {
        let replicas = self.map.replicas(shard).into_iter();
        let addresses = replicas.map(|replica| self.address(replica));
        addresses.filter(|address| !address.is_empty()).collect()
    }

    /// The answer to whoever asks this node for a shard that others have.
    pub(crate) fn not_here(&self, shard: u64) -> CallError {
        CallError::NotHere {
            map_version: self.map.version(),
            replica_addresses: self.replica_addresses(shard),
        }
    }
}

/// What a shard's tasks and its callers share.
pub(crate) struct Shared {
    pub(crate) group: Group,
    pub(crate) parts: ShardParts,
    pub(crate) context: ShardContext,
    pub(crate) parking: Arc<Parking>,
    pub(crate) leading: RwLock<Option<Leading>>,
    /// The newest term in which an entry of its own was applied while this replica led it.
    pub(crate) proven_term: AtomicU64,
    /// The map took the replica away: its rows go.
    pub(crate) is_retired: AtomicBool,
}

/// A shard of this node.
pub(crate) struct Shard {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Call>,
    pub(crate) sessions: Sessions,
}

impl Shard {
    /// A shard whose group exists here: opens it and starts its tasks. With a machine only if nothing was ever applied to the
    /// group, whose rows are that machine's.
    pub(crate) async fn open(
        engine: &Engine,
        shard: u64,
        newborn: Option<Machine>,
        context: ShardContext,
    ) -> Result<Self, GroupError> {
        let context = ShardContext {
            stop: context.stop.child_token(),
            ..context
        };
        let parts = ShardParts {
            shard,
            db: engine.state(),
            filter: Arc::clone(&context.filter),
            forgets_tokens: context.is_off(Rule::TokensGoOn),
            children: Forgets {
                tokens: context.is_off(Rule::ChildTokensGoOn),
                contacts: context.is_off(Rule::ChildKeepsContacts),
            },
            cell: Arc::new(MachineCell::default()),
            board: Arc::new(ReplyBoard::default()),
            map: Arc::clone(&context.map),
            newborn: Arc::new(Mutex::new(newborn)),
        };
        let for_factory = parts.clone();
        let factory: MachineFactory = Box::new(move || {
            ShardState::open(for_factory.clone())
                .map(|state| Box::new(state) as Box<dyn StateMachine>)
        });
        let group = engine.open_group(shard, factory).await?;
        context.map.opened(shard);
        let shared = Arc::new(Shared {
            group,
            parts,
            context,
            parking: Arc::new(Parking::default()),
            leading: RwLock::new(None),
            proven_term: AtomicU64::new(0),
            is_retired: AtomicBool::new(false),
        });
        let (queue, calls) = mpsc::channel(WAITING_CALLS);
        let (submitted, entries) = mpsc::channel(ENTRIES_IN_FLIGHT);
        let stop = &shared.context.stop;
        tokio::spawn(
            stop.clone()
                .run_until_cancelled_owned(filter_scan::run(Arc::clone(&shared))),
        );
        tokio::spawn(pump::run(
            entries,
            Arc::clone(&shared.parts.board),
            Arc::clone(&shared.context.hints),
        ));
        tokio::spawn(Task::new(Arc::clone(&shared), calls, submitted).run());
        Ok(Self {
            shared,
            queue,
            sessions: Sessions::default(),
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.shared.parts.shard
    }

    /// The id of the replica here.
    pub(crate) fn replica(&self) -> NodeId {
        self.shared.group.replica()
    }

    /// Ends with the node, or when the replica leaves it.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.shared.context.stop.clone()
    }

    /// The map took this replica away: its tasks and waiting calls end, and nothing more is read of its rows.
    pub(crate) fn retire(&self) {
        self.shared.is_retired.store(true, Ordering::Release);
        self.shared.context.stop.cancel();
    }

    fn is_retired(&self) -> bool {
        self.shared.is_retired.load(Ordering::Acquire)
    }

    /// The range as it is applied here; `None` where nothing is known of it yet.
    pub(crate) fn extent(&self) -> Option<Extent> {
        self.shared.extent()
    }

    /// Whether the shard owns a partition hash, as far as is applied here.
    pub(crate) fn holds(&self, partition: u64) -> bool {
        self.extent().is_some_and(|extent| extent.holds(partition))
    }

    /// Whoever leads is told, as far as is known; or why nobody can.
    pub(crate) fn not_leader(&self) -> CallError {
        if self.is_retired() {
            return self.shared.context.not_here(self.id());
        }
        let status = self.shared.group.status();
        // Nobody else can lead a shard with one replica: what stops that one says more than a search.
        if status.voters.len() <= 1
            && let GroupState::Recovering(reason) | GroupState::Stopped(reason) = status.state
        {
            return unavailable(reason.to_string());
        }
        self.shared
            .context
            .hints
            .not_leader(self.leadership().leader)
    }

    /// Makes the task look at its alarms again: somebody parked.
    pub(crate) fn nudge(&self) {
        self.shared.parking.nudge();
    }

    pub(crate) fn group(&self) -> &Group {
        &self.shared.group
    }

    pub(crate) fn parking(&self) -> &Arc<Parking> {
        &self.shared.parking
    }

    pub(crate) fn leadership(&self) -> Leadership {
        *self.shared.group.leadership().borrow()
    }

    pub(crate) fn published(&self) -> Published {
        self.shared.parts.cell.published().borrow().clone()
    }

    /// The leadership held now, or who holds it.
    pub(crate) fn leading(&self) -> Result<Leading, CallError> {
        let leading = *self.shared.leading.read();
        leading
            .filter(|_| !self.is_retired())
            .ok_or_else(|| self.not_leader())
    }

    /// The term held now, if an entry of its own was applied in it.
    pub(crate) fn proven_term(&self) -> Option<u64> {
        let term = (*self.shared.leading.read())?.token.term();
        (self.shared.proven_term.load(Ordering::Acquire) == term).then_some(term)
    }

    /// As in a term whose first entry is not applied yet.
    #[cfg(test)]
    pub(crate) fn forget_proof(&self) {
        self.shared.proven_term.store(0, Ordering::Release);
    }

    /// How many hosts may be leased now, as far as is known.
    pub(crate) fn ready_hosts(&self, leading: &Leading) -> u64 {
        ready_hosts(
            &self.published(),
            &leading.clock,
            self.shared.context.clocks.now(),
        )
    }

    /// Sends a command through the log. The answer proves leadership: its entry was proposed after the call began.
    ///
    /// # Errors
    ///
    /// Not the leader, too much waits, or the outcome is unknown.
    pub(crate) async fn submit(&self, body: Body) -> Result<Answer, CallError> {
        self.leading()?;
        let command = Command { body: Some(body) };
        let size_bytes = command.encoded_len();
        let permits = u32::try_from(size_bytes).unwrap_or(u32::MAX);
        let bytes = Arc::clone(&self.shared.context.waiting_bytes)
            .try_acquire_many_owned(permits)
            .map_err(|_| {
                self.shared.context.metrics.overloads.inc();
                overloaded(
                    "waiting_size_bytes",
                    size_bytes as u64,
                    WAITING_SIZE_BYTES as u64,
                )
            })?;
        let (answer, receiver) = oneshot::channel();
        self.queue
            .try_send(Call {
                command,
                size_bytes,
                answer,
                bytes,
            })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => {
                    self.shared.context.metrics.overloads.inc();
                    overloaded(
                        "waiting_calls",
                        WAITING_CALLS as u64 + 1,
                        WAITING_CALLS as u64,
                    )
                }
                mpsc::error::TrySendError::Closed(_) if self.is_retired() => self.not_leader(),
                mpsc::error::TrySendError::Closed(_) => unavailable("the shard is stopping"),
            })?;
        self.committed(receiver).await
    }

    /// Waits for an entry's commit; not to the end where most voters are silent, since nothing is committed then.
    async fn committed(
        &self,
        mut receiver: oneshot::Receiver<Result<Answer, CallError>>,
    ) -> Result<Answer, CallError> {
        let rest_ms = COMMIT_TIMEOUT_MS.saturating_sub(QUORUM_PATIENCE_MS);
        for wait_ms in [QUORUM_PATIENCE_MS, rest_ms] {
            match tokio::time::timeout(Duration::from_millis(wait_ms), &mut receiver).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => {
                    return Err(unavailable("the shard is stopping; the outcome is unknown"));
                }
                Err(_) if !self.hears_quorum() => break,
                Err(_) => {}
            }
        }
        let reason = if self.hears_quorum() {
            "no commit in time; the outcome is unknown"
        } else {
            "no quorum: most replicas of the shard are silent; the outcome is unknown"
        };
        Err(unavailable(reason))
    }

    /// Whether most voters answered this leader lately.
    fn hears_quorum(&self) -> bool {
        let progress = self.shared.group.progress();
        let voters = progress.values().filter(|p| p.is_voter);
        let is_heard =
            |p: &&raftlog::Progress| p.silent_ms.is_some_and(|ms| ms < QUORUM_PATIENCE_MS);
        let (all, heard) = (voters.clone().count(), voters.filter(is_heard).count());
        heard * 2 > all
    }

    /// Proves leadership after a read; calls at the same moment share a round. Returns the term in which it was held.
    pub(crate) async fn confirm(&self) -> Result<u64, CallError> {
        let limit = Duration::from_millis(COMMIT_TIMEOUT_MS);
        match tokio::time::timeout(limit, self.shared.group.confirm_leadership()).await {
            Ok(result) => result
                .map(|confirmed| confirmed.term)
                .map_err(|error| self.shared.context.hints.read_error(&error)),
            Err(_) => Err(unavailable("no proof of leadership in time")),
        }
    }

    /// Runs a read that blocks on a thread made for that, as many at once as the node allows.
    pub(crate) async fn blocking<R: Send + 'static>(
        &self,
        read: impl FnOnce(&Shared) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        let shared = Arc::clone(&self.shared);
        let permit = Arc::clone(&shared.context.blocking).acquire_owned().await;
        let permit = permit.map_err(|_| unavailable("stopping"))?;
        let run = move || {
            let _permit = permit;
            read(&shared)
        };
        self.shared.context.work.run(run).await
    }

    /// Looks at the machine with its rows and applied index.
    pub(crate) async fn look<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Machine, &StateRows, u64) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        let looked = self.blocking(move |shared| {
            let parts = &shared.parts;
            let rows = StateRows::new(parts.db.clone(), Arc::clone(&parts.filter), parts.shard);
            // Whoever took the machine out runs on another thread, or never.
            let longest = if shared.context.work.is_inline() {
                Duration::ZERO
            } else {
                Duration::from_millis(COMMIT_TIMEOUT_MS)
            };
            parts.cell.look(longest, |machine, index| {
                // Before its first entry an instance knows no index; the log does.
                let index = if index == 0 {
                    shared.group.status().applied_index
                } else {
                    index
                };
                look(machine, &rows, index)
            })
        });
        let looked = looked.await?.map_err(cell_error)?;
        // Its rows may have been deleted under the read.
        if self.is_retired() {
            return Err(self.shared.context.not_here(self.id()));
        }
        Ok(looked)
    }
}

impl Shared {
    /// The range as it is applied here, from the machine's last entry; before there is one, what others said of it.
    pub(crate) fn extent(&self) -> Option<Extent> {
        let published = self.parts.cell.extent();
        published.or_else(|| self.context.map.extent(self.parts.shard))
    }

    /// Which of the links' rows are in `seen`: the filter first, then RocksDB for what it cannot rule out.
    ///
    /// Ranges only shrink. So range and rows are of one view where the range holds the keys before the call and after it.
    pub(crate) fn known(&self, keys: &[Vec<u8>]) -> Result<Vec<bool>, CallError> {
        let shard = self.parts.shard;
        let mut known = self.context.filter.may_hold(shard, keys);
        let asked: Vec<usize> = (0..keys.len()).filter(|index| known[*index]).collect();
        let wanted: Vec<&[u8]> = asked.iter().map(|index| keys[*index].as_slice()).collect();
        let found = self
            .parts
            .db
            .multi_get(&wanted)
            .map_err(|error| state_error(&error))?;
        let valid = self.context.filter.is_valid(shard);
        self.context.metrics.filter(
            keys.len(),
            asked.len(),
            found.iter().filter(|row| row.is_none()).count(),
            valid,
        );
        for (index, row) in asked.into_iter().zip(found) {
            known[index] = row.is_some();
        }
        Ok(known)
    }
}
