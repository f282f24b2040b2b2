//! A job that a command began, watched to its end.

use super::args::Wait;
use super::ask::{Asker, End};
use super::{json, tables};
use proto::admin_v1 as pb;
use std::hash::{BuildHasher, RandomState};

/// Shows a job that has begun, or its end if that is waited for, and those of the jobs that go on with it.
pub(super) async fn begun(
    asker: &mut Asker,
    accepted: &pb::Accepted,
    wait: &Wait,
) -> Result<(), End> {
    if !wait.wait {
        return asker.show(
            || json::accepted(accepted),
            || format!("job {} has begun", accepted.job),
        );
    }
    let mut job = accepted.job;
    loop {
        let what = format!("job {job}");
        let ended = asker.wait_for(wait.within, &what, async |asker| ended(asker, job).await);
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

/// A random number that is not 0: the same request sent again finds its job.
pub fn draw() -> u64 {
    RandomState::new().hash_one(std::process::id()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_have_two_numbers() {
        assert_ne!(draw(), draw());
    }
}
