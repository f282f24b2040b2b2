//! An empty directory joins a running cluster, under a number of its own.
//!
//! The shard map decides who has a number: `Join` is one entry of group 0, and names the directory by a random number, so
//! that two directories that ask for one place at the same moment do not both get it. What comes before may be done again:
//!
//! 1. A member says what the cluster is, and refuses who would name or place URLs otherwise.
//! 2. The number, the incarnation and the directory's own random number are written down. Nothing has voted under them yet.
//! 3. `Join`, wherever group 0 is led.
//! 4. Once a copy of the map names the directory it may be opened. It has no groups; the map gives it some.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proto::raft_v1 as pb;
use shard_map::{Command, Node, NodeState, Refusal, ShardMap, command::Join};
use tokio::time::Instant;
use tonic::Code;
use urlkey::{CANONICALIZER_VERSION, SuffixList};

use super::address_book::AddressBook;
use super::bootstrap::{BootstrapError, Said, blocking, pause};
use super::gossip::GossipEnd;
use super::greeter::Greeter;
use super::replica_id::{incarnation, node_number, replica_id};
use crate::identity::Descriptor;
use crate::limits::{ALIVE_ROUNDS, NODE_NUMBER};
use crate::map::{
    MapCell, MapError, ask_for_change, fetch, identity, learn_nodes, places_of_leader,
};

/// A directory that wants to join.
pub struct Newcomer {
    /// The directory.
    pub dir: PathBuf,
    /// The number that it asks for; `None`: the lowest free one.
    pub node: Option<u32>,
    /// Where others will reach it.
    pub address: String,
    /// Whether it will keep pages.
    pub has_store: bool,
    /// Random, drawn when the process started.
    pub process: u64,
    /// The list that says what a site is.
    pub suffixes: Arc<SuffixList>,
    /// Members, as far as it was told or has heard.
    pub contacts: Vec<String>,
    /// How long to try while no member is reached, ms.
    pub patience_ms: u64,
    /// Where nodes are: what it hears is kept, so that a later start needs no contacts.
    pub book: Arc<AddressBook>,
}

impl Newcomer {
    fn give_up(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.patience_ms)
    }
}

/// What one member said.
struct Heard {
    address: String,
    founding: pb::Founding,
    /// The newest incarnation of the number asked for that the member knows.
    newest: Option<u32>,
}

/// Joins, and returns the descriptor of a directory that may be opened. `begun`: what an earlier try wrote.
///
/// Gives up when nobody is reached; waits as long as it takes for group 0: the caller bounds it.
///
/// # Errors
///
/// See [`BootstrapError`].
pub async fn join_cluster(
    newcomer: &Newcomer,
    begun: Option<Descriptor>,
    greeter: &Greeter,
) -> Result<Descriptor, BootstrapError> {
    let mut joining = Joining {
        newcomer,
        greeter,
        copy: MapCell::default(),
        contacts: newcomer.contacts.clone(),
        descriptor: begun,
        said: Said::default(),
        alive_rounds: 0,
        give_up: newcomer.give_up(),
    };
    loop {
        if let Some(descriptor) = joining.round().await? {
            return Ok(descriptor);
        }
        pause().await;
    }
}

struct Joining<'a> {
    newcomer: &'a Newcomer,
    greeter: &'a Greeter,
    copy: MapCell,
    contacts: Vec<String>,
    descriptor: Option<Descriptor>,
    said: Said,
    /// Rounds in a row in which a member said that the number's present process lives.
    alive_rounds: u32,
    /// When to give up if nobody was reached; pushed on by every answer.
    give_up: Instant,
}

impl Joining<'_> {
    /// One try; `None`: another one is needed.
    async fn round(&mut self) -> Result<Option<Descriptor>, BootstrapError> {
        let Some(heard) = self.greet().await? else {
            return Ok(None);
        };
        let Some(map) = self.map(&heard).await? else {
            return Ok(None);
        };
        if let Some(descriptor) = self.named(&map)? {
            return Ok(Some(descriptor));
        }
        let descriptor = match self.descriptor.take() {
            Some(begun) => begun,
            None => self.begin(&heard, &map).await?,
        };
        self.propose(descriptor, &map).await?;
        Ok(None)
    }

    /// The first member that takes it; `None`: none does now.
    async fn greet(&mut self) -> Result<Option<Heard>, BootstrapError> {
        let (mut refusal, mut alive, mut away) = (None, None, String::new());
        for address in &self.contacts {
            match self.greeter.hello(address, self.introduction()).await {
                Ok(answer) => {
                    self.give_up = self.newcomer.give_up();
                    let Some(founding) = answer.founding else {
                        away = format!("{address}: the node has no cluster yet");
                        continue;
                    };
                    self.alive_rounds = 0;
                    return Ok(Some(Heard {
                        address: address.clone(),
                        founding,
                        newest: answer.your_incarnation,
                    }));
                }
                Err(status) if status.code() == Code::FailedPrecondition => {
                    refusal = Some(status.message().to_owned());
                }
                Err(status) if status.code() == Code::AlreadyExists => {
                    alive = Some(status.message().to_owned());
                }
                Err(status) => away = format!("{address}: {}", status.message()),
            }
        }
        if let Some(reason) = refusal {
            return Err(BootstrapError::Refused(reason));
        }
        if let Some(reason) = alive {
            // A process that was just killed leaves links that look open for a moment.
            self.alive_rounds += 1;
            if self.alive_rounds >= ALIVE_ROUNDS {
                return Err(BootstrapError::Refused(reason));
            }
            self.said.once(reason);
            return Ok(None);
        }
        if Instant::now() >= self.give_up {
            return Err(BootstrapError::Refused(format!(
                "no member of a cluster answers: {away}"
            )));
        }
        self.said
            .once(format!("no member takes this node now: {away}"));
        Ok(None)
    }

    /// As a stranger: it is not of the cluster before the map says so.
    fn introduction(&self) -> pb::Introduction {
        let begun = self.descriptor.as_ref().map(|d| node_number(d.replica));
        pb::Introduction {
            node: begun.or(self.newcomer.node).unwrap_or(0),
            address: self.newcomer.address.clone(),
            has_store: self.newcomer.has_store,
            canonicalizer_version: CANONICALIZER_VERSION,
            suffix_list_digest: self.newcomer.suffixes.digest(),
            process: self.newcomer.process,
            ..pb::Introduction::default()
        }
    }

    /// The cluster's map as a member has it; `None`: it has none now.
    async fn map(&mut self, heard: &Heard) -> Result<Option<Arc<ShardMap>>, BootstrapError> {
        let (address, id) = (&heard.address, heard.founding.cluster_id);
        if let Some(begun) = self.descriptor.as_ref().filter(|d| d.cluster_id != id) {
            return Err(BootstrapError::Refused(format!(
                "{address} is of cluster {id:016x}, and this directory began to join {:016x}",
                begun.cluster_id
            )));
        }
        let fetched = fetch(self.greeter, id, address, &self.copy).await;
        if let Err(status) = fetched {
            self.said.once(format!("{address}: {}", status.message()));
        }
        let map = self.copy.view().map;
        if !map.is_founded() {
            return Ok(None);
        }
        let (book, there) = (Arc::clone(&self.newcomer.book), Arc::clone(&map));
        blocking(move || Ok(learn_nodes(&book, 0, &there)?)).await?;
        for known in places_of_leader(&map) {
            if known != self.newcomer.address && !self.contacts.contains(&known) {
                self.contacts.push(known);
            }
        }
        Ok(Some(map))
    }

    /// The map names this very directory: it is a member.
    fn named(&mut self, map: &ShardMap) -> Result<Option<Descriptor>, BootstrapError> {
        let Some(begun) = &self.descriptor else {
            return Ok(None);
        };
        let (number, disk) = (node_number(begun.replica), incarnation(begun.replica));
        match map.node(number) {
            Some(node) if (node.incarnation, node.disk) == (disk, begun.disk) => {
                if node.state() == NodeState::Gone {
                    return Err(GossipEnd::Gone {
                        node: number,
                        incarnation: disk,
                    }
                    .into());
                }
                Ok(Some(Descriptor {
                    admitted: true,
                    ..begun.clone()
                }))
            }
            _ => Ok(None),
        }
    }

    /// Chooses number and incarnation, and writes them down.
    async fn begin(&self, heard: &Heard, map: &ShardMap) -> Result<Descriptor, BootstrapError> {
        self.check_address(map)?;
        let number = match self.newcomer.node {
            Some(number) => number,
            None => free_number(map).ok_or_else(|| {
                BootstrapError::Refused("the cluster has no number left".to_owned())
            })?,
        };
        self.check_place(number, map).await?;
        let newest = map
            .node(number)
            .map(|node| node.incarnation)
            .max(heard.newest);
        let replica = replica_id(number, newest.map_or(0, |newest| newest + 1));
        let disk = u64::from_be_bytes(crate::identity::draw()?).max(1);
        let descriptor = Descriptor::of_founding(&heard.founding, replica, &self.newcomer.suffixes);
        let senseless =
            || BootstrapError::Refused("the cluster's founding makes no sense".to_owned());
        let descriptor = Descriptor {
            disk,
            ..descriptor.ok_or_else(senseless)?
        };
        let (dir, written) = (self.newcomer.dir.clone(), descriptor.clone());
        blocking(move || Ok(written.write(&dir)?)).await?;
        Ok(descriptor)
    }

    /// Who is where this node wants to be has its own number.
    fn check_address(&self, map: &ShardMap) -> Result<(), BootstrapError> {
        let own = &self.newcomer.address;
        let mut present = map.present_nodes();
        match present.find(|node| node.address == *own && Some(node.number) != self.newcomer.node) {
            Some(other) => Err(BootstrapError::Refused(format!(
                "node {0} of the cluster is at {own}. If its disk is lost, join with --node {0}; if it has moved, start it where it is now first",
                other.number
            ))),
            None => Ok(()),
        }
    }

    /// A number that somebody has is free only when nobody lives there.
    async fn check_place(&self, number: u32, map: &ShardMap) -> Result<(), BootstrapError> {
        let known = map.node(number).filter(|n| n.state() != NodeState::Gone);
        let Some(known) = known.filter(|n| n.address != self.newcomer.address) else {
            return Ok(());
        };
        let caller = pb::Introduction {
            node: number,
            ..self.introduction()
        };
        match self.greeter.hello(&known.address, caller).await {
            Err(status) if status.code() == Code::AlreadyExists => {
                Err(BootstrapError::Refused(status.message().to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Asks for the place. The next round sees whether the map gave it.
    async fn propose(
        &mut self,
        descriptor: Descriptor,
        map: &ShardMap,
    ) -> Result<(), BootstrapError> {
        let number = node_number(descriptor.replica);
        let join = Join {
            cluster_id: descriptor.cluster_id,
            identity: identity(&descriptor),
            node: Node {
                number,
                incarnation: incarnation(descriptor.replica),
                address: self.newcomer.address.clone(),
                holds_shards: true,
                has_store: self.newcomer.has_store,
                disk: descriptor.disk,
                ..Node::default()
            },
        };
        let command = Command::from(shard_map::Body::Join(join));
        let places = places_of_leader(map);
        let asked = ask_for_change(self.greeter, descriptor.cluster_id, places, &command).await;
        match asked {
            Ok(_) => self.descriptor = Some(descriptor),
            Err(MapError::Refused(reason)) => {
                let is_taken = reason == Refusal::NumberTaken(number).to_string();
                if !is_taken || self.newcomer.node.is_some() {
                    return Err(BootstrapError::Refused(reason));
                }
                self.said
                    .once(format!("number {number} was just given to another node"));
            }
            Err(error) => {
                self.said
                    .once(format!("node {number} waits for group 0: {error}"));
                self.descriptor = Some(descriptor);
            }
        }
        Ok(())
    }
}

/// The lowest number that no node ever had.
fn free_number(map: &ShardMap) -> Option<u32> {
    let highest = u32::try_from(NODE_NUMBER).unwrap_or(u32::MAX);
    (1..=highest).find(|number| map.node(*number).is_none())
}
