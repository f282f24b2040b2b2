//! The commands, one a file: its message, its apply, its refusals.
//!
//! | file | command |
//! |---|---|
//! | `found` | the first map |
//! | `join`, `leave` | a node comes, comes back with a new disk, goes |
//! | `drain`, `replace` | a node is emptied, alive or dead; an emptying is called off |
//! | `split_shard`, `move_replica` | jobs of one shard |
//! | `step_done`, `cancel_job` | how a job goes on, or back |
//! | `wish_leader`, `pin` | what balance and placement keep to |
//! | `set_crawl` | a crawl |
//! | `migrate_identity` | another suffix list, canonicaliser or key |
//! | `recover_group` | a group that lost its quorum for good goes on with one voter |
//! | `checks`, `jobs` | what several of them check and do |

mod cancel_job;
mod checks;
mod drain;
mod found;
mod jobs;
mod join;
mod leave;
mod migrate_identity;
mod move_replica;
mod pin;
mod recover_group;
mod replace;
mod set_crawl;
mod split_shard;
mod step_done;
mod wish_leader;

pub use cancel_job::CancelJob;
pub use drain::{Drain, Undrain};
pub use found::Found;
pub use join::Join;
pub use leave::Leave;
pub use migrate_identity::{EmptyShard, MigrateIdentity};
pub use move_replica::MoveReplica;
pub use pin::Pin;
pub use recover_group::RecoverGroup;
pub use replace::Replace;
pub use set_crawl::SetCrawl;
pub use split_shard::SplitShard;
pub use step_done::StepDone;
pub use wish_leader::WishLeader;

use crate::{model::ShardMap, refusal::Refusal};

/// One entry of group 0's log.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Command {
    /// The version that the caller saw; 0: whatever it is.
    #[prost(uint64, tag = "1")]
    pub if_version: u64,
    /// Drawn at random by whoever begins a job: the same command sent again finds that job. 0: none.
    #[prost(fixed64, tag = "2")]
    pub request: u64,
    /// Which command.
    #[prost(
        oneof = "Body",
        tags = "10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 40"
    )]
    pub body: Option<Body>,
}

/// The commands.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Body {
    /// The first map.
    #[prost(message, tag = "10")]
    Found(Found),
    /// A node comes, or comes back.
    #[prost(message, tag = "11")]
    Join(Join),
    /// An empty node goes.
    #[prost(message, tag = "12")]
    Leave(Leave),
    /// A node is emptied.
    #[prost(message, tag = "13")]
    Drain(Drain),
    /// It is not.
    #[prost(message, tag = "14")]
    Undrain(Undrain),
    /// A dead node is emptied and given up.
    #[prost(message, tag = "15")]
    Replace(Replace),
    /// A shard in two.
    #[prost(message, tag = "16")]
    SplitShard(SplitShard),
    /// A replica to another node.
    #[prost(message, tag = "17")]
    MoveReplica(MoveReplica),
    /// A job is one step on.
    #[prost(message, tag = "18")]
    StepDone(StepDone),
    /// A job is taken back.
    #[prost(message, tag = "19")]
    CancelJob(CancelJob),
    /// Who should lead.
    #[prost(message, tag = "20")]
    WishLeader(WishLeader),
    /// Where replicas should stay.
    #[prost(message, tag = "21")]
    Pin(Pin),
    /// A crawl.
    #[prost(message, tag = "22")]
    SetCrawl(SetCrawl),
    /// What all agree on.
    #[prost(message, tag = "23")]
    MigrateIdentity(MigrateIdentity),
    /// A group went on with one voter.
    #[prost(message, tag = "40")]
    RecoverGroup(RecoverGroup),
}

impl From<Body> for Command {
    fn from(body: Body) -> Self {
        Self {
            if_version: 0,
            request: 0,
            body: Some(body),
        }
    }
}

/// Changes `next`, whose version is already the coming one. The job that it began or is about.
pub(crate) fn run(next: &mut ShardMap, command: &Command) -> Result<Option<u64>, Refusal> {
    let body = command.body.as_ref().ok_or(Refusal::UnknownCommand)?;
    let current = next.version - 1;
    if let Body::Found(found) = body {
        return found.apply(next);
    }
    if current == 0 {
        return Err(Refusal::NotFounded);
    }
    if let Some(job) = next.job_of_request(command.request) {
        return Ok(Some(job.id));
    }
    if command.if_version != 0 && command.if_version != current {
        return Err(Refusal::StaleMap {
            given: command.if_version,
            current,
        });
    }
    match body {
        Body::Found(_) => Err(Refusal::AlreadyFounded(next.cluster_id)),
        Body::Join(join) => join.apply(next),
        Body::Leave(leave) => leave.apply(next),
        Body::Drain(drain) => drain.apply(next, command.request),
        Body::Undrain(undrain) => undrain.apply(next),
        Body::Replace(replace) => replace.apply(next, command.request),
        Body::SplitShard(split) => split.apply(next, command.request),
        Body::MoveReplica(moved) => moved.apply(next, command.request),
        Body::StepDone(done) => done.apply(next),
        Body::CancelJob(cancel) => cancel.apply(next),
        Body::WishLeader(wish) => wish.apply(next),
        Body::Pin(pin) => pin.apply(next),
        Body::SetCrawl(set) => set.apply(next),
        Body::MigrateIdentity(migrate) => migrate.apply(next),
        Body::RecoverGroup(recover) => recover.apply(next),
    }
}
