//! `split` and `cancel-job`: a job begun, watched, taken back.

use super::args::{CancelArgs, Point, SplitArgs};
use super::ask::{Asker, End};
use super::{json, tables};
use proto::admin_v1 as pb;
use proto::admin_v1::split_request::Point as Wire;
use std::hash::{BuildHasher, RandomState};

/// Begins a split, and waits for its end if that is wanted.
pub(super) async fn run(asker: &mut Asker, args: &SplitArgs) -> Result<(), End> {
    let request = pb::SplitRequest {
        request: draw(),
        shard: args.shard,
        epoch: args.epoch.unwrap_or(0),
        point: Some(point(&args.point)),
    };
    let accepted = asker.change(async |admin| admin.split(request.clone()).await);
    let accepted = accepted.await?;
    if !args.wait.wait {
        return asker.show(
            || json::accepted(&accepted),
            || format!("job {} has begun", accepted.job),
        );
    }
    let mut job = accepted.job;
    loop {
        let what = format!("job {job}");
        let ended = asker.wait_for(args.wait.within, &what, async |asker| {
            ended(asker, job).await
        });
        let ended = ended.await?;
        let shown = pb::JobsResponse {
            copy: None,
            jobs: vec![ended.clone()],
        };
        asker.show(|| json::jobs(&shown), || tables::end(&ended))?;
        if ended.state() == pb::JobState::Undone {
            let words = format!("job {job} was undone: {}", ended.reason);
            return Err(End::Undone(words));
        }
        match ended.next_job {
            0 => return Ok(()),
            next => job = next,
        }
    }
}

/// A job that has ended.
async fn ended(asker: &mut Asker, job: u64) -> Result<Option<pb::Job>, End> {
    let answer = asker.ask(async |admin| admin.jobs(job).await).await?;
    // A copy that is behind does not know it yet.
    let found = answer.jobs.into_iter().find(|found| found.job == job);
    Ok(found.filter(|found| found.state() != pb::JobState::Running))
}

/// Takes a job back.
pub(super) async fn cancel(asker: &mut Asker, args: &CancelArgs) -> Result<(), End> {
    let request = pb::CancelJobRequest {
        job: args.job,
        reason: args.reason.clone(),
    };
    let accepted = asker.change(async |admin| admin.cancel_job(request.clone()).await);
    let accepted = accepted.await?;
    asker.show(
        || json::accepted(&accepted),
        || format!("job {} is taken back", args.job),
    )
}

fn point(point: &Point) -> Wire {
    match (point.at, &point.around) {
        (Some(at), _) => Wire::At(at),
        (None, Some(host)) => Wire::AroundHost(host.clone()),
        (None, None) => Wire::Middle(point.middle),
    }
}

/// A random number that is not 0: the same request sent again finds its job.
pub fn draw() -> u64 {
    RandomState::new().hash_one(std::process::id()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_what_was_asked() {
        let asked = |at, middle, around: Option<&str>| {
            point(&Point {
                at,
                middle,
                around: around.map(str::to_owned),
            })
        };
        assert_eq!(asked(Some(7), false, None), Wire::At(7));
        assert_eq!(asked(None, true, None), Wire::Middle(true));
        let host = Wire::AroundHost("a.example".to_owned());
        assert_eq!(asked(None, false, Some("a.example")), host);
        assert_ne!(draw(), draw());
    }
}
