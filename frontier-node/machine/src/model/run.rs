//! One machine under test with everything that judges it: the model, the invariants, and twins that must do the same.

use super::{
    state::{Judged, Model},
    store::Store,
    world,
};
use crate::{
    Entry, Machine, Overlay, Reply, ShardId,
    command::lease::{Lease, LeaseKey, LeaseReply},
    entry::{Command, CommandReply},
    invariants::{self, View},
};

pub const SHARD: ShardId = ShardId(7);

/// Row changes in key order; `None` deletes.
pub type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// A machine and its rows.
pub struct Replica {
    pub machine: Machine,
    pub store: Store,
}

impl Replica {
    pub fn new() -> Self {
        let mut overlay = Overlay::default();
        let mut store = Store::default();
        let machine = Machine::create(SHARD, world::RANGE.0, world::RANGE.1, &mut overlay);
        store.commit(&mut overlay);
        Self { machine, store }
    }

    /// A machine rebuilt from a copy of the rows.
    pub fn rebuilt(&self) -> Judged<Self> {
        let store = self.store.clone();
        let machine = Machine::rebuild(&store, self.machine.shard())
            .map_err(|error| error.to_string())?
            .ok_or("no such shard")?;
        Ok(Self { machine, store })
    }

    /// Applies and commits; the reply and the row changes.
    pub fn apply(&mut self, entry: &Entry) -> Judged<(Reply, Changes)> {
        let mut overlay = Overlay::default();
        let reply = self
            .machine
            .apply(&self.store, entry, &mut overlay)
            .map_err(|error| format!("the shard stopped: {error}"))?;
        let changes: Vec<_> = overlay
            .changes()
            .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
            .collect();
        self.store.commit(&mut overlay);
        Ok((reply, changes))
    }

    pub fn view(&self) -> Judged<View> {
        View::read(&self.store, self.machine.shard()).map_err(|error| error.to_string())
    }

    /// The children that were split off, each with its rows, as if it had its store alone. What stays must be the parent's.
    pub fn divide(&mut self) -> Judged<Vec<Self>> {
        let children: Vec<_> = self
            .machine
            .take_children()
            .into_iter()
            .map(|machine| Self {
                store: self.store.split_off(&machine.key_ranges()),
                machine,
            })
            .collect();
        Ok(children)
    }
}

impl Replica {
    /// Invariants of the state, of the step that led to it, and of memory against rows.
    fn check(&self, before: &View, after: &View, entry: &Entry) -> Judged {
        let told = |error| format!("{error} after {entry:?}");
        invariants::check_state(after).map_err(told)?;
        invariants::check_step(before, after).map_err(told)?;
        invariants::rebuild(&self.machine, &self.store).map_err(told)
    }
}

/// What a bug put back does to an entry's result: the reply, and the machine with its rows.
pub type Corrupt = Box<dyn FnMut(&Entry, &mut Reply, &mut Replica)>;

/// The run.
pub struct Run {
    pub replica: Replica,
    /// Applies whole entries; the replica gets them command by command, as the model judges them.
    batched: Replica,
    /// Rebuilt from rows; applies the same for some entries.
    twin: Option<(Replica, u32)>,
    pub model: Model,
    view: View,
    /// Every lease ever granted, in the order of grants.
    pub granted: Vec<Lease>,
    corrupt: Option<Corrupt>,
    /// Runs of children that were split off.
    children: Vec<Run>,
}

impl Run {
    pub fn new() -> Judged<Self> {
        let model = Model {
            shard: SHARD.0,
            range: world::RANGE,
            ..Model::default()
        };
        Self::of(Replica::new(), Replica::new(), model)
    }

    fn of(replica: Replica, batched: Replica, model: Model) -> Judged<Self> {
        Ok(Self {
            batched,
            twin: None,
            model,
            view: replica.view()?,
            granted: Vec::new(),
            replica,
            corrupt: None,
            children: Vec::new(),
        })
    }

    /// Runs of the children that were split off since the last call.
    pub fn take_children(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.children)
    }

    /// A run whose machine has a bug put back.
    pub fn with_bug(corrupt: Corrupt) -> Judged<Self> {
        Ok(Self {
            corrupt: Some(corrupt),
            ..Self::new()?
        })
    }

    /// Goes on with a machine rebuilt from rows; the old one stays in lock-step for some entries.
    pub fn rebuild(&mut self, entries: u32) -> Judged {
        let rebuilt = self.replica.rebuilt()?;
        let old = std::mem::replace(&mut self.replica, rebuilt);
        self.twin = Some((old, entries));
        Ok(())
    }

    /// Applies an entry, judges everything, and gives the replies.
    pub fn step(
        &mut self,
        now_ms: u64,
        wall_unix_ms: u64,
        commands: Vec<Command>,
    ) -> Judged<Vec<CommandReply>> {
        let whole = Entry {
            now_ms,
            wall_unix_ms,
            commands,
        };
        let mut replies = Vec::new();
        for at in 0..whole.commands.len().max(1) {
            let commands: Vec<_> = whole.commands.get(at).cloned().into_iter().collect();
            let reply = self.single(&Entry {
                now_ms,
                wall_unix_ms,
                commands,
            })?;
            replies.extend(reply.replies);
        }
        if self.corrupt.is_none() {
            self.check_batched(&whole)?;
        }
        Ok(replies)
    }

    fn single(&mut self, entry: &Entry) -> Judged<Reply> {
        let (mut reply, changes) = self.replica.apply(entry)?;
        if let Some(corrupt) = &mut self.corrupt {
            corrupt(entry, &mut reply, &mut self.replica);
        }
        if let Some((twin, left)) = &mut self.twin {
            let (other, other_changes) = twin.apply(entry)?;
            if reply != other {
                return Err(format!(
                    "rebuilt and old machine part at {entry:?}: {reply:?} and {other:?}"
                ));
            }
            if changes != other_changes {
                return Err(format!(
                    "rebuilt and old machine write other rows at {entry:?}"
                ));
            }
            *left -= 1;
        }
        self.twin = self.twin.take().filter(|(_, left)| *left > 0);
        let whole = self.replica.view()?;
        let children = self.replica.divide()?;
        let after = self.replica.view()?;
        self.replica.check(&self.view, &after, entry)?;
        let told = |error| format!("{error}\n  at {entry:?}\n  answered {reply:?}");
        self.model.judge(entry, &reply, &whole).map_err(told)?;
        if !children.is_empty() {
            self.twin = None;
        }
        self.take_over(children, &after, entry).map_err(told)?;
        self.model.compare(&after).map_err(told)?;
        self.view = after;
        for answer in &reply.replies {
            if let CommandReply::Lease(LeaseReply::Granted {
                leases,
                repeated: false,
                ..
            }) = answer
            {
                self.granted.extend(leases.iter().cloned());
            }
        }
        Ok(reply)
    }

    /// Children of this entry get runs of their own.
    fn take_over(&mut self, children: Vec<Replica>, after: &View, entry: &Entry) -> Judged {
        let models = std::mem::take(&mut self.model.children);
        if models.len() != children.len() {
            return Err(format!(
                "{} children, expected {}",
                children.len(),
                models.len()
            ));
        }
        for (replica, mut model) in children.into_iter().zip(models) {
            let view = replica.view()?;
            replica.check(&self.view, &view, entry)?;
            self.model.share_books(&mut model, after, &view)?;
            model.compare(&view)?;
            let batched = replica.rebuilt()?;
            let mut run = Self::of(replica, batched, model)?;
            let theirs = |lease: &&Lease| run.model.holds(lease.key.partition);
            run.granted = self.granted.iter().filter(theirs).cloned().collect();
            self.children.push(run);
        }
        Ok(())
    }

    /// The same commands sharing an entry. Work that one of them makes due waits for the next entry there, so the two may part; the
    /// invariants hold all the same, and a machine rebuilt before the entry answers as the running one.
    fn check_batched(&mut self, whole: &Entry) -> Judged {
        let before = self.batched.view()?;
        let mut rebuilt = self.batched.rebuilt()?;
        let result = self.batched.apply(whole)?;
        if rebuilt.apply(whole)? != result {
            return Err(format!("rebuilt and running machine part at {whole:?}"));
        }
        let children = self.batched.divide()?;
        let after = self.batched.view()?;
        self.batched.check(&before, &after, whole)?;
        for replica in children {
            let view = replica.view()?;
            replica.check(&before, &view, whole)?;
            let run = self
                .children
                .iter_mut()
                .find(|run| run.replica.machine.shard() == replica.machine.shard());
            run.ok_or("a child that only shared entries made")?.batched = replica;
        }
        Ok(())
    }

    /// A lease of the past, the last one first.
    pub fn lease_back(&self, back: usize) -> Option<&Lease> {
        self.granted
            .len()
            .checked_sub(back % self.granted.len().max(1) + 1)
            .and_then(|at| self.granted.get(at))
    }

    /// Open leases' keys with their tokens.
    pub fn open(&self) -> Vec<(LeaseKey, u64)> {
        self.model
            .leases
            .iter()
            .map(|lease| (lease.key, lease.token))
            .collect()
    }

    /// Keys of waiting outbox rows.
    pub fn outbox_keys(&self) -> Vec<Vec<u8>> {
        self.view
            .outbox
            .keys()
            .map(|(partition, sequence)| crate::keys::outbox::key(*partition, *sequence))
            .collect()
    }
}
