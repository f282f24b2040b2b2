//! `discover`: what applied state already knows is dropped before the log.

use client::CallError;
use client::limits::{DISCOVER_ITEMS, DISCOVER_SIZE_BYTES};
use machine::command::discover::{Discover, Item, ItemKind};
use machine::{Body, CommandReply};
use pb::discover_result::Code;
use prost::Message;
use proto::frontier_v1 as pb;
use raftlog::Rule;

use super::LocalFrontier;
use crate::convert::{Verifier, discover_result, item_from_wire, within};
use crate::errors::unavailable;
use crate::shard::Shared;

/// A batch after its checks: answers that need no entry, and what goes to the log.
struct Prepared {
    /// In the sender's order; `None` for items that go to the log.
    results: Vec<Option<pb::DiscoverResult>>,
    /// In the sender's order.
    items: Vec<Item>,
    /// The term under which known links were dropped; `None` when none was.
    dropped_in_term: Option<u64>,
    /// Places and partition hashes of these links.
    dropped: Vec<(usize, u64)>,
}

impl LocalFrontier {
    pub(super) async fn discover_items(
        &self,
        request: pb::DiscoverRequest,
    ) -> Result<pb::DiscoverResponse, CallError> {
        within(
            "discover_items",
            request.items.len() as u64,
            DISCOVER_ITEMS as u64,
        )?;
        within(
            "discover_size_bytes",
            request.encoded_len() as u64,
            DISCOVER_SIZE_BYTES as u64,
        )?;
        let shard = &*self.node.shard(request.shard)?;
        shard.leading()?;
        if request.items.is_empty() {
            return Ok(pb::DiscoverResponse::default());
        }
        let verifier = self.node.verifier.clone();
        // Read before the rows are: a later term must not vouch for them.
        let proven_term = shard.proven_term();
        let prepared = shard
            .blocking(move |shared| prepare(shared, &verifier, proven_term, request.items))
            .await??;
        let Prepared {
            mut results,
            items,
            dropped_in_term,
            dropped,
        } = prepared;
        let now_ms = if items.is_empty() {
            let is_proven = self.node.context.is_off(Rule::KnownNeedsProof)
                || proves(shard.confirm().await?, dropped_in_term);
            if !is_proven {
                return Err(unavailable("leadership changed meanwhile"));
            }
            0
        } else {
            let answer = shard.submit(Body::Discover(Discover { items })).await?;
            if dropped_in_term.is_some_and(|term| term != answer.term) {
                return Err(unavailable("leadership changed meanwhile"));
            }
            let CommandReply::Discover(replies) = answer.reply else {
                return Err(wrong_reply());
            };
            let mut replies = replies.iter().map(discover_result);
            for result in results.iter_mut().filter(|result| result.is_none()) {
                *result = replies.next();
            }
            answer.now_ms
        };
        // Everything that was committed before the proof is applied now. A split may be among it, after which the child has led
        // its range without this shard's leader: what it owns is its to answer.
        let extent = shard.extent();
        let is_lost = |hash: u64| !extent.is_some_and(|extent| extent.holds(hash));
        for (index, _) in dropped.iter().filter(|(_, hash)| is_lost(*hash)) {
            results[*index] = Some(result(Code::WrongShard, ""));
        }
        let results: Option<Vec<_>> = results.into_iter().collect();
        let results = results.ok_or_else(wrong_reply)?;
        self.node.context.metrics.discovered(&results);
        Ok(pb::DiscoverResponse { results, now_ms })
    }
}

/// Whether a proof in one term vouches for rows that were read in another.
fn proves(proven_in_term: u64, dropped_in_term: Option<u64>) -> bool {
    dropped_in_term.is_none_or(|term| term == proven_in_term)
}

/// The machine answered another command than was asked: never, unless versions are mixed.
pub(super) fn wrong_reply() -> CallError {
    unavailable("the reply is not to this command; the outcome is unknown")
}

/// Checks every item, drops what is refused, foreign or known. Blocking: parses URLs and reads rows.
fn prepare(
    shared: &Shared,
    verifier: &Verifier,
    proven_term: Option<u64>,
    wire: Vec<pb::DiscoverItem>,
) -> Result<Prepared, CallError> {
    let extent = shared.extent();
    let holds = |item: &Item| extent.is_some_and(|extent| extent.holds(partition(item)));
    let mut results = vec![None; wire.len()];
    let mut checked = Vec::with_capacity(wire.len());
    for (index, item) in wire.into_iter().enumerate() {
        match item_from_wire(verifier, item) {
            Ok(item) if holds(&item) => checked.push((index, item)),
            Ok(_) => results[index] = Some(result(Code::WrongShard, "")),
            Err(rejected) => results[index] = Some(result(Code::Refused, rejected.0)),
        }
    }
    // Until an entry of this term was applied, rows may lack what an earlier leader acknowledged.
    let Some(term) = proven_term else {
        let items = checked.into_iter().map(|(_, item)| item).collect();
        return Ok(Prepared {
            results,
            items,
            dropped_in_term: None,
            dropped: Vec::new(),
        });
    };
    let links = checked
        .iter()
        .enumerate()
        .filter_map(|(at, (_, item))| Some((at, seen_key(item)?)));
    let (places, keys): (Vec<usize>, Vec<Vec<u8>>) = links.unzip();
    let mut is_known = vec![false; checked.len()];
    for (place, known) in places.into_iter().zip(shared.known(&keys)?) {
        is_known[place] = known;
    }
    let mut items = Vec::with_capacity(checked.len());
    let mut dropped = Vec::new();
    for ((index, item), known) in checked.into_iter().zip(is_known) {
        if known {
            dropped.push((index, partition(&item)));
            results[index] = Some(result(Code::Known, ""));
        } else {
            items.push(item);
        }
    }
    let count = dropped.len() as u64;
    shared.context.metrics.known_dropped.inc_by(count);
    Ok(Prepared {
        results,
        items,
        dropped_in_term: (!dropped.is_empty()).then_some(term),
        dropped,
    })
}

/// The row that says a link was accepted; other items have none.
fn seen_key(item: &Item) -> Option<Vec<u8>> {
    match &item.kind {
        Some(ItemKind::Link(link)) => Some(machine::seen_key(link.partition, link.fingerprint)),
        _ => None,
    }
}

fn partition(item: &Item) -> u64 {
    match &item.kind {
        Some(ItemKind::Link(link)) => link.partition,
        Some(ItemKind::Errand(errand)) => errand.partition,
        Some(ItemKind::ErrandResult(result)) => result.origin_partition,
        None => 0,
    }
}

fn result(code: Code, reason: &str) -> pb::DiscoverResult {
    pb::DiscoverResult {
        code: code.into(),
        reason: reason.to_owned(),
        ..pb::DiscoverResult::default()
    }
}
