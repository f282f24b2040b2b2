//! One entry: the work that time made due, the commands in order, the rows of all that changed.

use crate::{
    entry::{Body, Command, CommandReply, Entry, Reply},
    error::MachineError,
    keys,
    machine::Machine,
    overlay::Overlay,
    rows::Rows,
    step::Step,
};
use prost::Message;

impl Machine {
    /// Applies one entry. Row changes go to the overlay, which later entries read through until it is committed.
    ///
    /// An error means that the rows are unreadable or contradict each other: the machine must not be used any more.
    pub fn apply(
        &mut self,
        rows: &dyn Rows,
        entry: &Entry,
        overlay: &mut Overlay,
    ) -> Result<Reply, MachineError> {
        // A stamp from before a leader change never turns shard time back; wall time may step back.
        self.meta.now_ms = self.meta.now_ms.max(entry.now_ms);
        self.meta.wall_unix_ms = entry.wall_unix_ms;
        let mut step = Step {
            now_ms: self.meta.now_ms,
            wall_ms: entry.wall_unix_ms,
            m: self,
            rows,
            overlay,
        };
        step.due_work()?;
        let replies = entry
            .commands
            .iter()
            .map(|command| step.command(command))
            .collect::<Result<_, _>>()?;
        step.write_changed();
        Ok(Reply {
            now_ms: self.meta.now_ms,
            replies,
        })
    }
}

impl Step<'_> {
    fn due_work(&mut self) -> Result<(), MachineError> {
        self.expire_leases()?;
        self.wake_by_wall()?;
        self.end_behind_dead_robots()?;
        self.move_aliased()?;
        self.drop_idle_hosts()?;
        self.expire_sessions();
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Result<CommandReply, MachineError> {
        Ok(match &command.body {
            Some(Body::Restore(restore)) => CommandReply::Restore(self.restore(restore)?),
            _ if self.m.is_being_restored() => CommandReply::BeingRestored,
            Some(Body::Discover(batch)) => CommandReply::Discover(self.discover(batch)?),
            Some(Body::Lease(call)) => CommandReply::Lease(self.lease(call)?),
            Some(Body::Report(batch)) => CommandReply::Report(self.report(batch)?),
            Some(Body::Release(batch)) => CommandReply::Release(self.release(batch)?),
            Some(Body::SetPolicy(set)) => CommandReply::SetPolicy(self.set_policy(set)?),
            Some(Body::Remove(slice)) => CommandReply::Remove(self.remove(slice)?),
            Some(Body::Deliver(batch)) => CommandReply::Deliver(self.deliver(batch)?),
            Some(Body::Split(split)) => CommandReply::Split(self.split(split)?),
            Some(Body::Recover(recover)) => CommandReply::Recover(self.recover(recover)?),
            Some(Body::LostStore(slice)) => CommandReply::LostStore(self.lost_store(slice)?),
            Some(Body::Alias(alias)) => CommandReply::Alias(self.alias(alias)?),
            None => CommandReply::Unknown,
        })
    }

    /// One row a changed host and entry, whatever happened to it.
    pub(crate) fn write_hosts(&mut self) {
        for id in std::mem::take(&mut self.m.changed) {
            let Some(host) = self.m.hosts.get_mut(id) else {
                continue;
            };
            host.changed = false;
            self.overlay.put(
                keys::host::key(host.partition, &host.name),
                host.to_row(id).encode_to_vec(),
            );
        }
    }

    fn write_changed(&mut self) {
        self.write_hosts();
        self.overlay
            .put(keys::meta::key(self.m.shard), self.m.meta.encode_to_vec());
    }
}
