//! `split` and `cancel-job`: a shard in two, a job taken back.

use super::args::{CancelArgs, Point, SplitArgs};
use super::ask::{Asker, End};
use super::{job, json};
use proto::admin_v1 as pb;
use proto::admin_v1::split_request::Point as Wire;

/// Begins a split, and waits for its end if that is wanted.
pub(super) async fn run(asker: &mut Asker, args: &SplitArgs) -> Result<(), End> {
    let request = pb::SplitRequest {
        request: job::draw(),
        shard: args.shard,
        epoch: args.epoch.unwrap_or(0),
        point: Some(point(&args.point)),
    };
    let accepted = asker.change(async |admin| admin.split(request.clone()).await);
    let accepted = accepted.await?;
    job::begun(asker, &accepted, &args.wait).await
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
    }
}
