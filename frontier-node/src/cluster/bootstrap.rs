//! An empty directory founds a cluster with the others, or comes back to one under the next incarnation.
//!
//! A replica that lost its disk has forgotten its votes, so it must never take part under an id that voted before. Two
//! rules ensure that, whatever crashes between any two steps:
//!
//! 1. An incarnation opens its groups only when it is on other disks: on those of **all** other founders for the founding
//!    incarnation, on those of a majority of the others for a later one.
//! 2. An empty directory asks before it takes an incarnation: any one member suffices to know whether the founding one
//!    was ever opened; a majority of the others to know the newest later one. It takes the next.
//!
//! The node with the lowest number founds, once all others have said that they are as empty as it is.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use proto::raft_v1 as pb;
use tonic::Code;
use urlkey::FingerprintKey;

use super::address_book::BookError;
use super::greeter::Greeter;
use super::member::Member;
use super::replica_id::{incarnation, replica_id};
use crate::identity::{Descriptor, IdentityError, ShardRange};
use crate::limits::BOOTSTRAP_PAUSE_MS;

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
    while member.descriptor().is_none() {
        let heard = greet_all(member, greeter).await?;
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
        let heard = greet_all(member, greeter).await?;
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
const fn needed(incarnation: u32, others: usize) -> usize {
    if incarnation == 0 {
        others
    } else {
        others / 2 + 1
    }
}

fn lost() -> BootstrapError {
    BootstrapError::Refused("the descriptor is gone".to_owned())
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(BOOTSTRAP_PAUSE_MS)).await;
}

/// What waits is said when it changes, not at each try.
#[derive(Default)]
struct Said(String);

impl Said {
    fn once(&mut self, text: String) {
        if self.0 != text {
            tracing::info!("{text}");
            self.0 = text;
        }
    }
}

/// Everybody's answer; whoever does not answer is left out. A refusal is an error.
async fn greet_all(
    member: &Arc<Member>,
    greeter: &Greeter,
) -> Result<Vec<pb::HelloResponse>, BootstrapError> {
    let others = member.others();
    let calls = others.iter().map(|(_, address)| {
        let introduction = member.introduction();
        greeter.hello(address, introduction)
    });
    let mut heard = Vec::new();
    for ((node, _), answer) in others.iter().zip(join_all(calls).await) {
        match answer {
            Ok(response) => {
                let callee = response.callee.clone().unwrap_or_default();
                if callee.node != *node {
                    let found = callee.node;
                    return Err(BootstrapError::Refused(format!(
                        "node {found} answers where node {node} should be"
                    )));
                }
                if let Some(objection) = member.objection(&callee) {
                    return Err(BootstrapError::Refused(objection));
                }
                let learner = Arc::clone(member);
                blocking(move || Ok(learner.learn(&callee)?)).await?;
                heard.push(response);
            }
            Err(status) if status.code() == Code::FailedPrecondition => {
                return Err(BootstrapError::Refused(status.message().to_owned()));
            }
            Err(status) => tracing::debug!(node, %status, "no answer"),
        }
    }
    Ok(heard)
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
            let (suffixes, shards) = (&member.suffixes, member.shards);
            let replica = replica_id(member.node, 0);
            return Ok(Some(Descriptor::found(
                replica, founders, shards, suffixes, None,
            )?));
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
    Descriptor::of_founding(
        founding,
        replica_id(member.node, incarnation),
        &member.suffixes,
    )
    .map(Some)
    .ok_or_else(|| BootstrapError::Refused("the cluster's founding makes no sense".to_owned()))
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

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BootstrapError> + Send + 'static,
) -> Result<T, BootstrapError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| BootstrapError::Interrupted(error.to_string()))?
}

impl Descriptor {
    /// As told to an empty directory.
    pub(super) fn to_founding(&self) -> pb::Founding {
        pb::Founding {
            cluster_id: self.cluster_id,
            fingerprint_secret: self.key.to_bytes().to_vec().into(),
            founders: self.founders.clone(),
            shards: self
                .shards
                .iter()
                .map(|r| pb::ShardRange {
                    shard: r.shard,
                    first: r.first,
                    last: r.last,
                })
                .collect(),
        }
    }

    /// As heard by an empty directory; `None` if it makes no sense.
    fn of_founding(
        founding: &pb::Founding,
        replica: u64,
        suffixes: &urlkey::SuffixList,
    ) -> Option<Self> {
        let secret: [u8; 16] = founding.fingerprint_secret.as_ref().try_into().ok()?;
        let shards: Vec<ShardRange> = founding
            .shards
            .iter()
            .map(|r| ShardRange {
                shard: r.shard,
                first: r.first,
                last: r.last,
            })
            .collect();
        let makes_sense = founding.cluster_id != 0
            && !shards.is_empty()
            && shards.iter().all(|r| r.shard != 0 && r.first <= r.last)
            && shards.windows(2).all(|w| w[0].last < w[1].first);
        makes_sense.then(|| Self {
            replica,
            cluster_id: founding.cluster_id,
            key: FingerprintKey::from_bytes(secret),
            founders: founding.founders.clone(),
            shards,
            suffix_list_digest: suffixes.digest(),
            canonicalizer_version: urlkey::CANONICALIZER_VERSION,
            admitted: false,
        })
    }
}
