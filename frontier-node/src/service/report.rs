//! `report`, `release`, `set_policy`, `remove`: checked item by item, then one command.

use client::CallError;
use client::limits::{REPORT_ITEMS, REPORT_SIZE_BYTES};
use machine::command::release::ReleaseBatch;
use machine::command::report::{ReportBatch, ReportResult};
use machine::{Body, CommandReply};
use prost::Message;
use proto::frontier_v1 as pb;

use super::LocalFrontier;
use super::discover::wrong_reply;
use crate::convert::{
    Rejected, invalid_result, policy_from_wire, release_from_wire, remove_from_wire,
    report_from_wire, report_result, within,
};
use crate::shard::Shard;

/// Items that passed their checks, and the answers of those that did not, in the sender's order.
type Checked<T> = (Vec<T>, Vec<Option<pb::ReportResult>>);

impl LocalFrontier {
    pub(super) async fn report_items(
        &self,
        request: pb::ReportRequest,
    ) -> Result<pb::ReportResponse, CallError> {
        within(
            "report_items",
            request.items.len() as u64,
            REPORT_ITEMS as u64,
        )?;
        within(
            "report_size_bytes",
            request.encoded_len() as u64,
            REPORT_SIZE_BYTES as u64,
        )?;
        let shard = &*self.node.shard(request.shard)?;
        shard.leading()?;
        let verifier = self.node.verifier.clone();
        // Hashes robots bodies and parses undelivered links: not on an async worker.
        let ((items, results), dropped) = shard
            .blocking(move |_| {
                let mut dropped = 0;
                let checked = split(
                    request
                        .items
                        .into_iter()
                        .map(|r| report_from_wire(&verifier, r, &mut dropped)),
                );
                (checked, dropped)
            })
            .await?;
        self.node
            .context
            .metrics
            .undelivered_refused
            .inc_by(dropped);
        let results = close(shard, items, results, |items| {
            Body::Report(ReportBatch { items })
        })
        .await?;
        self.node.context.metrics.reported(&results);
        Ok(pb::ReportResponse { results })
    }

    pub(super) async fn release_items(
        &self,
        request: pb::ReleaseRequest,
    ) -> Result<pb::ReleaseResponse, CallError> {
        within(
            "release_items",
            request.items.len() as u64,
            REPORT_ITEMS as u64,
        )?;
        let shard = &*self.node.shard(request.shard)?;
        shard.leading()?;
        let (items, results) = split(request.items.iter().map(release_from_wire));
        let results = close(shard, items, results, |items| {
            Body::Release(ReleaseBatch { items })
        })
        .await?;
        self.node
            .context
            .metrics
            .released
            .inc_by(results.len() as u64);
        Ok(pb::ReleaseResponse { results })
    }

    pub(super) async fn change_policy(
        &self,
        request: pb::SetPolicyRequest,
    ) -> Result<pb::SetPolicyResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        let policy = request
            .policy
            .ok_or(Rejected("no policy"))
            .map_err(invalid)?;
        let policy = policy_from_wire(&self.node.verifier, policy).map_err(invalid)?;
        match shard.submit(Body::SetPolicy(policy)).await?.reply {
            CommandReply::SetPolicy(reply) => Ok(pb::SetPolicyResponse {
                refused_reason: reply.refused.to_owned(),
            }),
            _ => Err(wrong_reply()),
        }
    }

    pub(super) async fn remove_slice(
        &self,
        request: pb::RemoveRequest,
    ) -> Result<pb::RemoveResponse, CallError> {
        let shard = &*self.node.shard(request.shard)?;
        let remove = remove_from_wire(&self.node.verifier, request).map_err(invalid)?;
        match shard.submit(Body::Remove(remove)).await?.reply {
            CommandReply::Remove(reply) => Ok(pb::RemoveResponse {
                removed: reply.removed,
                marked: reply.marked,
                cursor: reply.cursor.into(),
                refused_reason: reply.refused.to_owned(),
            }),
            _ => Err(wrong_reply()),
        }
    }
}

pub(super) fn invalid(rejected: Rejected) -> CallError {
    CallError::Invalid {
        index: 0,
        reason: rejected.0.to_owned(),
    }
}

fn split<T>(checked: impl Iterator<Item = Result<T, Rejected>>) -> Checked<T> {
    let mut items = Vec::new();
    let mut results = Vec::new();
    for item in checked {
        match item {
            Ok(item) => {
                items.push(item);
                results.push(None);
            }
            Err(rejected) => results.push(Some(invalid_result(rejected))),
        }
    }
    (items, results)
}

/// Sends what passed and puts the answers in the sender's order.
async fn close<T>(
    shard: &Shard,
    items: Vec<T>,
    mut results: Vec<Option<pb::ReportResult>>,
    body: impl FnOnce(Vec<T>) -> Body,
) -> Result<Vec<pb::ReportResult>, CallError> {
    if !items.is_empty() {
        let replies: Vec<ReportResult> = match shard.submit(body(items)).await?.reply {
            CommandReply::Report(replies) | CommandReply::Release(replies) => replies,
            _ => return Err(wrong_reply()),
        };
        let mut replies = replies.iter().map(report_result);
        for result in results.iter_mut().filter(|result| result.is_none()) {
            *result = replies.next();
        }
    }
    results
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(wrong_reply)
}
