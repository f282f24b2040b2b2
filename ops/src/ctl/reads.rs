//! `status`, `nodes`, `shards`, `jobs`.

use super::ask::{Asker, End};
use super::{json, tables};

/// Shows the cluster in a few numbers.
pub(super) async fn status(asker: &mut Asker) -> Result<(), End> {
    let answer = asker.ask(async |admin| admin.status().await).await?;
    asker.show(|| json::status(&answer), || tables::status(&answer))
}

/// Shows the nodes.
pub(super) async fn nodes(asker: &mut Asker) -> Result<(), End> {
    let answer = asker.ask(async |admin| admin.nodes().await).await?;
    asker.show(|| json::nodes(&answer), || tables::nodes(&answer))
}

/// Shows the shards.
pub(super) async fn shards(asker: &mut Asker) -> Result<(), End> {
    let answer = asker.ask(async |admin| admin.shards().await).await?;
    asker.show(|| json::shards(&answer), || tables::shards(&answer))
}

/// Shows jobs; one that is asked for and not known is refused.
pub(super) async fn jobs(asker: &mut Asker, job: Option<u64>) -> Result<(), End> {
    let only = job.unwrap_or(0);
    let answer = asker.ask(async |admin| admin.jobs(only).await).await?;
    if let Some(job) = job
        && answer.jobs.is_empty()
    {
        let words = format!("no job {job}, or it ended long ago and was forgotten");
        return Err(End::Refused(words));
    }
    asker.show(|| json::jobs(&answer), || tables::jobs(&answer))
}
