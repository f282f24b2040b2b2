//! Shards that exist only here: they split when they are told, and can hold whoever drives a job at a chosen point.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use raftlog::NodeId;
use tokio::sync::Notify;

use crate::map::{ShapeError, Shaper, SplitOrder, Standing};

/// Where a driver is held, as if it had died there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// The parent was not asked yet.
    BeforeSplit,
    /// The parent has split, and the driver does not hear of it.
    AfterSplit,
    /// The driver asks who has made the child.
    AtCreated,
    /// The driver asks who leads the child.
    AtLed,
}

#[derive(Default)]
struct State {
    hold_at: Option<Point>,
    refusal: Option<String>,
    /// By child; how often its standings were asked for.
    splits: BTreeMap<u64, (SplitOrder, u32)>,
    orders: Vec<SplitOrder>,
}

/// The shards of all nodes.
#[derive(Default)]
pub(super) struct FakeShards {
    state: Mutex<State>,
    held: Notify,
    released: Notify,
}

impl FakeShards {
    /// Holds the first driver that comes to a point, until it is released.
    pub(super) fn holding(point: Point) -> Arc<Self> {
        let shards = Self::default();
        shards.state.lock().hold_at = Some(point);
        Arc::new(shards)
    }

    /// A parent that never splits.
    pub(super) fn refusing(reason: &str) -> Arc<Self> {
        let shards = Self::default();
        shards.state.lock().refusal = Some(reason.to_owned());
        Arc::new(shards)
    }

    /// Waits until a driver is held.
    pub(super) async fn held(&self) {
        self.held.notified().await;
    }

    /// Lets the driver go on that is held.
    pub(super) fn release(&self) {
        self.released.notify_one();
    }

    /// What parents were told, in order.
    pub(super) fn orders(&self) -> Vec<SplitOrder> {
        self.state.lock().orders.clone()
    }

    async fn pass(&self, point: Point) {
        let is_held = self.state.lock().hold_at.take_if(|at| *at == point);
        if is_held.is_some() {
            self.held.notify_one();
            self.released.notified().await;
        }
    }
}

#[async_trait::async_trait]
impl Shaper for FakeShards {
    async fn split(&self, order: &SplitOrder) -> Result<(), ShapeError> {
        self.pass(Point::BeforeSplit).await;
        {
            let mut state = self.state.lock();
            state.orders.push(order.clone());
            if let Some(reason) = &state.refusal {
                return Err(ShapeError::Refused(reason.clone()));
            }
            let split = state.splits.entry(order.child);
            split.or_insert_with(|| (order.clone(), 0));
        }
        self.pass(Point::AfterSplit).await;
        Ok(())
    }

    async fn standings(&self, group: u64) -> Vec<Standing> {
        let (order, asked) = {
            let mut state = self.state.lock();
            let Some((order, asked)) = state.splits.get_mut(&group) else {
                return Vec::new();
            };
            *asked += 1;
            (order.clone(), *asked)
        };
        let point = if asked == 1 {
            Point::AtCreated
        } else {
            Point::AtLed
        };
        self.pass(point).await;
        let leader = order.voters.first().copied();
        let standing = |replica: &NodeId| Standing {
            replica: *replica,
            leader_term: (Some(*replica) == leader).then_some(1),
            is_proven: Some(*replica) == leader,
            voters: order.voters.clone(),
            ..Standing::default()
        };
        order.voters.iter().map(standing).collect()
    }

    async fn middle(&self, _shard: u64) -> Result<u64, ShapeError> {
        match self.orders().first() {
            None => Ok(1 << 40),
            Some(_) => Err(ShapeError::Refused("only one site is left".to_owned())),
        }
    }

    async fn hand_over(&self, _group: u64, _to: NodeId) -> Result<(), ShapeError> {
        Err(ShapeError::Unavailable("nobody leads".to_owned()))
    }
}
