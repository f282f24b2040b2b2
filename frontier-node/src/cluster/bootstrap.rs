//! An empty directory founds a cluster with the others, or comes back to one under the next incarnation.
//!
//! A replica that lost its disk has forgotten its votes, so it must never take part under an id that voted before. Three
//! rules ensure that, whatever crashes between any two steps:
//!
//! 1. An incarnation opens its groups only when it is on other disks: on those of **all** other founders for the founding
//!    incarnation, on those of a majority of the others for a later one.
//! 2. An empty directory asks before it takes an incarnation: any one member suffices to know whether the founding one
//!    was ever opened; a majority of the others to know the newest later one. It takes the next.
//!
//! 3. While the present incarnation of a node lives there is no later one: an empty directory that was started under a
//!    living node's number asks where that node is said to be, and members refuse it while they have a link to it.
//!
//! The node with the lowest number founds, once all others have said that they are as empty as it is.

use std::sync::Arc;
use std::time::Duration;

use proto::raft_v1 as pb;

use super::address_book::BookError;
use super::asking::Rounds;
use super::gossip::GossipEnd;
use super::greeter::Greeter;
use super::member::Member;
use super::replica_id::{incarnation, replica_id};
use crate::identity::{Descriptor, IdentityError};
use crate::limits::{BOOTSTRAP_PAUSE_MS, DEFAULT_REPLICAS};

/// Why a node did not become a member.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The directory cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// What the others are cannot be written down.
    #[error(transparent)]
    Book(#[from] BookError),
    /// Another node refuses this one, or is of another cluster.
    #[error("{0}")]
    Refused(String),
    /// The thread that writes ended early.
    #[error("writing was interrupted: {0}")]
    Interrupted(String),
    /// Another directory took this one's place.
    #[error(transparent)]
    Replaced(#[from] GossipEnd),
}

/// Makes the directory a member's, if it is not, and waits until its groups may be opened. Returns its descriptor.
///
/// Waits as long as it takes: the caller bounds it. The `Nodes` service must be served meanwhile, for the others ask too.
///
/// # Errors
///
/// See [`BootstrapError`].
pub async fn bootstrap(
    member: &Arc<Member>,
    greeter: &Greeter,
) -> Result<Descriptor, BootstrapError> {
    let mut said = Said::default();
    let mut rounds = Rounds::default();
    while member.descriptor().is_none() {
        let Some(heard) = rounds.next(member, greeter).await? else {
            pause().await;
            continue;
        };
        if let Some(descriptor) = decide(member, &heard, &mut said)? {
            adopt(member, descriptor).await?;
        } else {
            pause().await;
        }
    }
    loop {
        let descriptor = member.descriptor().ok_or_else(lost)?;
        if descriptor.admitted {
            return Ok(descriptor);
        }
        let Some(heard) = rounds.next(member, greeter).await? else {
            pause().await;
            continue;
        };
        let own = incarnation(descriptor.replica);
        let recorded = heard.iter().filter(|h| h.your_incarnation == Some(own));
        let others = descriptor.founders.iter().filter(|n| **n != member.node);
        let needed = needed(own, others.count());
        if recorded.count() >= needed {
            let admitted = Descriptor {
                admitted: true,
                ..descriptor
            };
            adopt(member, admitted).await?;
        } else {
            said.once(format!(
                "node {} waits until {needed} others know it",
                member.node
            ));
            pause().await;
        }
    }
}

/// How many others must know an incarnation before it is opened, and be asked before a later one is taken.
pub(super) const fn needed(incarnation: u32, others: usize) -> usize {
    if incarnation == 0 {
        others
    } else {
        others / 2 + 1
    }
}

fn lost() -> BootstrapError {
    BootstrapError::Refused("the descriptor is gone".to_owned())
}

pub(super) async fn pause() {
    tokio::time::sleep(Duration::from_millis(BOOTSTRAP_PAUSE_MS)).await;
}

/// What waits is said when it changes, not at each try.
#[derive(Default)]
pub(super) struct Said(String);

impl Said {
    pub(super) fn once(&mut self, text: String) {
        if self.0 != text {
            tracing::info!("{text}");
            self.0 = text;
        }
    }
}

/// What an empty directory becomes after one round of answers; `None`: ask again.
fn decide(
    member: &Member,
    heard: &[pb::HelloResponse],
    said: &mut Said,
) -> Result<Option<Descriptor>, BootstrapError> {
    let others = member.founders.iter().filter(|(n, _)| *n != member.node);
    let others = others.count();
    let Some(founding) = heard.iter().find_map(|h| h.founding.as_ref()) else {
        let is_first = member.founders.first().map(|(n, _)| *n) == Some(member.node);
        if is_first && heard.len() == others {
            let founders = member.founders.iter().map(|(n, _)| *n).collect();
            let (suffixes, shards) = (&member.suffixes, member.shards.unwrap_or(1));
            let replica = replica_id(member.node, 0);
            let founded = Descriptor::found(replica, founders, shards, suffixes, member.key)?;
            return Ok(Some(
                founded.wanting(member.replicas.unwrap_or(DEFAULT_REPLICAS)),
            ));
        }
        said.once(format!(
            "node {} waits for the other founders: {} of {others} answered",
            member.node,
            heard.len()
        ));
        return Ok(None);
    };
    let newest = heard.iter().filter_map(|h| h.your_incarnation).max();
    let incarnation = match newest {
        None if founding.founders.contains(&member.node) => 0,
        None => {
            return Err(BootstrapError::Refused(format!(
                "node {} is not among the founders {:?} of the cluster",
                member.node, founding.founders
            )));
        }
        Some(newest) => {
            let members = heard.iter().filter(|h| h.founding.is_some()).count();
            if members < needed(newest + 1, others) {
                said.once(format!(
                    "node {} lost its disk and waits for more members to ask which incarnations were used",
                    member.node
                ));
                return Ok(None);
            }
            newest + 1
        }
    };
    let replica = replica_id(member.node, incarnation);
    let descriptor =
        Descriptor::of_founding(founding, replica, &member.suffixes).ok_or_else(|| {
            BootstrapError::Refused("the cluster's founding makes no sense".to_owned())
        })?;
    descriptor.check_secret(member.key)?;
    Ok(Some(descriptor))
}

/// Writes a descriptor and this node's own entry, then takes them.
async fn adopt(member: &Arc<Member>, descriptor: Descriptor) -> Result<(), BootstrapError> {
    let there = Arc::clone(member);
    blocking(move || {
        descriptor.write(&there.dir)?;
        *there.descriptor.write() = Some(descriptor);
        let own = there.entry();
        there.book.learn(own.as_slice())?;
        Ok(())
    })
    .await
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BootstrapError> + Send + 'static,
) -> Result<T, BootstrapError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| BootstrapError::Interrupted(error.to_string()))?
}
