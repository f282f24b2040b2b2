//! What a node asks before its groups open: everybody else who it is, and where its own number is said to be, whether
//! somebody else is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use proto::raft_v1 as pb;
use tonic::Code;

use super::bootstrap::{BootstrapError, blocking, needed};
use super::gossip::GossipEnd;
use super::greeter::Greeter;
use super::member::Member;
use super::replica_id::incarnation;
use crate::limits::ALIVE_ROUNDS;
use crate::map::fetch;

/// Answers of one round.
#[derive(Default)]
struct Heard {
    answers: Vec<pb::HelloResponse>,
    /// Nodes that are not of one cluster with this one, and why.
    refusals: BTreeMap<u32, String>,
    /// Members that see the present incarnation of this node alive.
    alive: Option<String>,
}

/// Rounds of hellos of a directory whose groups may not be opened yet.
#[derive(Default)]
pub(super) struct Rounds {
    /// In how many in a row somebody said that the present incarnation lives.
    alive: u32,
}

impl Rounds {
    /// Everybody's answer; whoever does not answer is left out. `None`: the present incarnation may live, ask again.
    ///
    /// # Errors
    ///
    /// Somebody refuses, or another process has this node's number.
    pub(super) async fn next(
        &mut self,
        member: &Arc<Member>,
        greeter: &Greeter,
    ) -> Result<Option<Vec<pb::HelloResponse>>, BootstrapError> {
        let heard = greet_all(member, greeter, member.others()).await?;
        if let Some(refusal) = heard.refusals.into_values().next() {
            return Err(BootstrapError::Refused(refusal));
        }
        check_own_places(member, greeter, &heard.answers).await?;
        let Some(alive) = heard.alive else {
            self.alive = 0;
            return Ok(Some(heard.answers));
        };
        // A process that was just killed leaves links that look open for a moment.
        self.alive += 1;
        if self.alive < ALIVE_ROUNDS {
            return Ok(None);
        }
        Err(BootstrapError::Refused(alive))
    }
}

/// Asks once before the groups of a directory that is a member's open: whether its place was given away, whether it is of
/// the others' cluster, whether another process has its number. Who does not answer at once is not waited for, so that all
/// nodes may be started at the same moment.
///
/// # Errors
///
/// It may not open. One node of several that refuses says nothing: it may be the stranger.
pub async fn ask_before_opening(
    member: &Arc<Member>,
    greeter: &Greeter,
) -> Result<(), BootstrapError> {
    let mut places = member.others();
    let nodes: BTreeSet<u32> = places.iter().map(|(node, _)| *node).collect();
    // A stranger's own book names its own cluster; the others of this start are where the settings say.
    let named = member.founders.iter().filter(|(n, _)| *n != member.node);
    places.extend(named.cloned());
    places.sort();
    places.dedup();
    let heard = greet_all(member, greeter, places).await?;
    let own = member.replica().map_or(0, incarnation);
    let newest = heard
        .answers
        .iter()
        .filter_map(|h| h.your_incarnation)
        .max();
    if let Some(newest) = newest.filter(|newest| *newest > own) {
        let node = member.node;
        return Err(GossipEnd::Replaced { node, newest }.into());
    }
    fetch_newest(member, greeter, &heard.answers).await;
    if let Some(incarnation) = member.gone() {
        let node = member.node;
        return Err(GossipEnd::Gone { node, incarnation }.into());
    }
    check_own_places(member, greeter, &heard.answers).await?;
    // Who takes this node at one place does not refuse it, whatever is at the other one.
    let mut refusals = heard.refusals;
    for callee in heard.answers.iter().filter_map(|h| h.callee.as_ref()) {
        refusals.remove(&callee.node);
    }
    match refusals.into_values().nth(needed(1, nodes.len()) - 1) {
        Some(refusal) => Err(BootstrapError::Refused(refusal)),
        None => Ok(()),
    }
}

/// Takes the newest map of those who answered, so that a node that is gone knows it before it opens.
async fn fetch_newest(member: &Member, greeter: &Greeter, answers: &[pb::HelloResponse]) {
    let callees = answers.iter().filter_map(|answer| answer.callee.as_ref());
    let newest = callees.max_by_key(|callee| callee.map_version);
    let (Some(callee), Some(descriptor)) = (newest, member.descriptor()) else {
        return;
    };
    if callee.map_version <= member.copy.version() {
        return;
    }
    let fetched = fetch(
        greeter,
        descriptor.cluster_id,
        &callee.address,
        &member.copy,
    )
    .await;
    if let Err(status) = fetched {
        tracing::debug!(node = callee.node, %status, "the shard map was not fetched");
    }
}

/// One hello to each of the others.
async fn greet_all(
    member: &Arc<Member>,
    greeter: &Greeter,
    others: Vec<(u32, String)>,
) -> Result<Heard, BootstrapError> {
    let calls = others
        .iter()
        .map(|(_, address)| greeter.hello(address, member.introduction()));
    let mut heard = Heard::default();
    for ((node, _), answer) in others.iter().zip(join_all(calls).await) {
        let response = match answer {
            Ok(response) => response,
            Err(status) => {
                match status.code() {
                    Code::FailedPrecondition => {
                        heard.refusals.insert(*node, status.message().to_owned());
                    }
                    Code::AlreadyExists => heard.alive = Some(status.message().to_owned()),
                    _ => tracing::debug!(node, %status, "no answer"),
                }
                continue;
            }
        };
        let callee = response.callee.clone().unwrap_or_default();
        let objection = if callee.node == *node {
            member.objection(&callee)
        } else {
            let found = callee.node;
            Some(format!("node {found} answers where node {node} should be"))
        };
        if let Some(objection) = objection {
            heard.refusals.insert(*node, objection);
            continue;
        }
        let learner = Arc::clone(member);
        blocking(move || Ok(learner.learn(&callee)?)).await?;
        heard.answers.push(response);
    }
    Ok(heard)
}

/// Asks where this node is said to be, by itself and by others, whether another process is there under its number.
async fn check_own_places(
    member: &Member,
    greeter: &Greeter,
    answers: &[pb::HelloResponse],
) -> Result<(), BootstrapError> {
    let known = answers.iter().filter_map(|h| h.callee.as_ref());
    let known = known.flat_map(|callee| &callee.known);
    let said = known.filter(|known| known.node == member.node && !known.address.is_empty());
    let mut places: BTreeSet<String> = said.map(|known| known.address.clone()).collect();
    places.insert(member.address.clone());
    let calls = places.iter().map(|address| async move {
        let answer = greeter.hello(address, member.introduction()).await;
        // Itself answers with its own number of the process; who is elsewhere, or another node, is not in the way.
        answer
            .err()
            .filter(|status| status.code() == Code::AlreadyExists)
    });
    match join_all(calls).await.into_iter().flatten().next() {
        Some(status) => Err(BootstrapError::Refused(status.message().to_owned())),
        None => Ok(()),
    }
}
