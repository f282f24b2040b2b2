//! Shards that exist only here: they split when they are told, and can hold whoever drives a job at a chosen point.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use raftlog::NodeId;
use tokio::sync::Notify;

use crate::cluster::node_number;
use crate::map::{MemberChange, MemberOrder, ShapeError, Shaper, SplitOrder, Standing, Weight};

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
    /// The driver asks whether a replica is there that must come.
    AtMade,
    /// The group was not asked yet for a step of a change of members.
    Before(Kind),
    /// It has taken the step, and the driver does not hear of it.
    After(Kind),
    /// The driver asks whether a replica is there that must go.
    AtDestroyed,
}

/// A step of a change of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Add,
    CatchUp,
    Vote,
    Remove,
}

impl Kind {
    const fn of(change: MemberChange) -> Self {
        match change {
            MemberChange::Add => Self::Add,
            MemberChange::CatchUp => Self::CatchUp,
            MemberChange::Vote { .. } => Self::Vote,
            MemberChange::Remove => Self::Remove,
        }
    }
}

/// A group that has members and a leader among its voters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FakeGroup {
    pub(super) voters: BTreeSet<NodeId>,
    pub(super) learners: BTreeSet<NodeId>,
    pub(super) leader: NodeId,
    /// Rises with each report, by so much.
    pub(super) busy: u64,
    applied_index: u64,
}

impl FakeGroup {
    fn standing(&self, replica: NodeId) -> Standing {
        let is_leader = replica == self.leader;
        Standing {
            replica,
            leader_term: is_leader.then_some(1),
            is_proven: is_leader,
            applied_index: self.applied_index,
            voters: self.voters.clone(),
            learners: self.learners.clone(),
            ..Standing::default()
        }
    }

    fn take(&mut self, order: &MemberOrder) -> Result<(), ShapeError> {
        let replica = order.replica;
        let unknown = || ShapeError::Refused(format!("replica {replica} is no member"));
        match order.change {
            MemberChange::Add if !self.voters.contains(&replica) => {
                self.learners.insert(replica);
            }
            MemberChange::Add => {}
            MemberChange::CatchUp if self.has(replica) => {}
            MemberChange::CatchUp => return Err(unknown()),
            MemberChange::Vote { old } => {
                if !self.has(replica) {
                    return Err(unknown());
                }
                self.learners.remove(&replica);
                self.voters.insert(replica);
                self.voters.retain(|voter| Some(*voter) != old);
                if !self.voters.contains(&self.leader) {
                    self.leader = replica;
                }
            }
            MemberChange::Remove if self.voters.contains(&replica) => {
                return Err(ShapeError::Refused(format!("replica {replica} is a voter")));
            }
            MemberChange::Remove => {
                self.learners.remove(&replica);
            }
        }
        Ok(())
    }

    fn has(&self, replica: NodeId) -> bool {
        self.voters.contains(&replica) || self.learners.contains(&replica)
    }
}

#[derive(Default)]
struct State {
    hold_at: Option<Point>,
    refusal: Option<String>,
    /// By child; how often its standings were asked for.
    splits: BTreeMap<u64, (SplitOrder, u32)>,
    orders: Vec<SplitOrder>,
    groups: BTreeMap<u64, FakeGroup>,
    changes: Vec<MemberOrder>,
    handed_over: Vec<(u64, NodeId)>,
    /// Nodes that do not answer.
    silent: BTreeSet<u32>,
    /// Nodes that make no replica.
    idle: BTreeSet<u32>,
    /// Nodes that keep what they should destroy.
    hoarding: BTreeSet<u32>,
    /// What shards weigh.
    weights: BTreeMap<u64, Weight>,
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

    /// With these groups, each led by the first of its voters.
    pub(super) fn with_groups(self: Arc<Self>, groups: &[(u64, &[NodeId])]) -> Arc<Self> {
        for (group, voters) in groups {
            let fake = FakeGroup {
                voters: voters.iter().copied().collect(),
                leader: voters[0],
                ..FakeGroup::default()
            };
            self.state.lock().groups.insert(*group, fake);
        }
        self
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

    /// What groups were told of their members, in order; what only asks is left out.
    pub(super) fn changes(&self) -> Vec<MemberOrder> {
        let changes = self.state.lock().changes.clone();
        let is_change = |order: &MemberOrder| order.change != MemberChange::CatchUp;
        changes.into_iter().filter(is_change).collect()
    }

    /// Who was asked to take over what, in order.
    pub(super) fn handed_over(&self) -> Vec<(u64, NodeId)> {
        self.state.lock().handed_over.clone()
    }

    /// A group as it is.
    pub(super) fn group(&self, group: u64) -> FakeGroup {
        self.state.lock().groups[&group].clone()
    }

    /// Changes a group behind the driver's back.
    pub(super) fn alter(&self, group: u64, alter: impl FnOnce(&mut FakeGroup)) {
        self.state.lock().groups.entry(group).and_modify(alter);
    }

    /// From now on this node does not answer.
    pub(super) fn silence(&self, node: u32) {
        self.state.lock().silent.insert(node);
    }

    /// This node makes no replica.
    pub(super) fn idle(&self, node: u32) {
        self.state.lock().idle.insert(node);
    }

    /// This node keeps what it should destroy; or it does not any more.
    pub(super) fn hoard(&self, node: u32, hoards: bool) {
        let mut state = self.state.lock();
        state.hoarding.remove(&node);
        if hoards {
            state.hoarding.insert(node);
        }
    }

    /// What a shard weighs from now on.
    pub(super) fn weighs(&self, shard: u64, weight: Weight) {
        self.state.lock().weights.insert(shard, weight);
    }

    async fn pass(&self, point: Point) {
        let is_held = self.state.lock().hold_at.take_if(|at| *at == point);
        if is_held.is_some() {
            self.held.notify_one();
            self.released.notified().await;
        }
    }

    fn standings_of(&self, group: u64) -> Option<Vec<Standing>> {
        let state = self.state.lock();
        let found = state.groups.get(&group)?;
        let replicas = found.voters.iter().chain(&found.learners);
        let answering = replicas.filter(|r| !state.silent.contains(&node_number(**r)));
        Some(answering.map(|replica| found.standing(*replica)).collect())
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
        if let Some(known) = self.standings_of(group) {
            return known;
        }
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

    async fn weigh(&self, shard: u64) -> Result<Weight, ShapeError> {
        if let Some(weight) = self.state.lock().weights.get(&shard) {
            return Ok(*weight);
        }
        let middle = self.orders().is_empty().then_some(1 << 40);
        Ok(Weight {
            middle,
            ..Weight::default()
        })
    }

    async fn hand_over(&self, group: u64, to: NodeId) -> Result<(), ShapeError> {
        let mut state = self.state.lock();
        let found = state.groups.get_mut(&group);
        let found = found.ok_or_else(|| ShapeError::Unavailable("nobody leads".to_owned()))?;
        if !found.voters.contains(&to) {
            return Err(ShapeError::Refused("no voter".to_owned()));
        }
        found.leader = to;
        state.handed_over.push((group, to));
        Ok(())
    }

    async fn change_members(&self, order: &MemberOrder) -> Result<(), ShapeError> {
        let kind = Kind::of(order.change);
        self.pass(Point::Before(kind)).await;
        let taken = {
            let mut state = self.state.lock();
            state.changes.push(*order);
            // Who does not answer does not catch up.
            if kind == Kind::CatchUp && state.silent.contains(&node_number(order.replica)) {
                return Err(ShapeError::Unavailable("it lacks entries".to_owned()));
            }
            match state.groups.get_mut(&order.group) {
                Some(group) => group.take(order),
                None => Err(ShapeError::Unavailable("nobody leads".to_owned())),
            }
        };
        self.pass(Point::After(kind)).await;
        taken
    }

    async fn has_replica(&self, group: u64, replica: NodeId) -> Result<bool, ShapeError> {
        let node = node_number(replica);
        let (is_silent, is_member, is_there) = {
            let state = self.state.lock();
            let found = state.groups.get(&group);
            let voted = state.changes.iter().any(|order| {
                order.group == group && order.change == MemberChange::Vote { old: Some(replica) }
            });
            let is_there = if voted {
                state.hoarding.contains(&node)
            } else {
                !state.idle.contains(&node)
            };
            let is_member = found.is_some_and(|g| g.voters.contains(&replica)) || voted;
            (state.silent.contains(&node), is_member, is_there)
        };
        let point = if is_member {
            Point::AtDestroyed
        } else {
            Point::AtMade
        };
        self.pass(point).await;
        if is_silent {
            return Err(ShapeError::Unavailable(format!("node {node} is silent")));
        }
        Ok(is_there)
    }

    async fn report(&self, node: u32) -> Result<BTreeMap<u64, Standing>, ShapeError> {
        let mut state = self.state.lock();
        if state.silent.contains(&node) {
            return Err(ShapeError::Unavailable(format!("node {node} is silent")));
        }
        let mut standings = BTreeMap::new();
        for (group, fake) in &mut state.groups {
            let replicas = fake.voters.iter().chain(&fake.learners).copied();
            let here = replicas
                .into_iter()
                .find(|replica| node_number(*replica) == node);
            if let Some(replica) = here {
                if replica == fake.leader {
                    fake.applied_index += fake.busy;
                }
                standings.insert(*group, fake.standing(replica));
            }
        }
        Ok(standings)
    }
}
