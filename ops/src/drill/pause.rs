//! The longest time without any request while work was ready.
//!
//! Requests are what the web server saw. What was ready is what the replicas said: a sample tells when the next host may be
//! contacted by the state that its replica had applied.

use super::limits::UNSAMPLED_GAP;

/// What the replicas said at one moment, all shards together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, in nanoseconds of the monotonic clock.
    pub t_ns: u64,
    /// When the next host becomes ready; not before `t_ns`. `None`: nothing waits for time.
    pub ready_at_ns: Option<u64>,
}

/// The longest pause, in nanoseconds; `None` without two requests. Both lists in order of time.
pub fn longest_ns(arrivals_ns: &[u64], samples: &[Sample]) -> Option<u64> {
    let mut longest = None;
    for pair in arrivals_ns.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let pause = ready_from(from, to, samples).map_or(0, |ready| to.saturating_sub(ready));
        longest = longest.max(Some(pause));
    }
    longest
}

/// Since when work was ready between two requests.
fn ready_from(from: u64, to: u64, samples: &[Sample]) -> Option<u64> {
    let first = samples.partition_point(|sample| sample.t_ns < from);
    let end = samples.partition_point(|sample| sample.t_ns < to);
    let within = &samples[first..end];
    let Some(earliest) = within.first() else {
        // Nobody answered: what was said last holds.
        let unsampled = u128::from(to - from) > UNSAMPLED_GAP.as_nanos();
        let before = samples[..first].last().filter(|_| unsampled)?;
        return before.ready_at_ns.map(|ready| ready.max(from));
    };
    // Ready at the first look: it may have been since the last request.
    if earliest.ready_at_ns == Some(earliest.t_ns) {
        return Some(from);
    }
    within
        .iter()
        .filter_map(|sample| sample.ready_at_ns)
        .min()
        .map(|ready| ready.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sample(t_ms: u64, ready_at_ms: impl Into<Option<u64>>) -> Sample {
        Sample {
            t_ns: t_ms * MS,
            ready_at_ns: ready_at_ms.into().map(|ms| ms * MS),
        }
    }

    fn longest_ms(arrivals_ms: &[u64], samples: &[Sample]) -> Option<u64> {
        let arrivals: Vec<u64> = arrivals_ms.iter().map(|ms| ms * MS).collect();
        longest_ns(&arrivals, samples).map(|ns| ns / MS)
    }

    #[test]
    fn waiting_for_a_clock_is_no_pause() {
        let samples = [sample(200, 900), sample(600, 900)];
        assert_eq!(longest_ms(&[100, 1_000], &samples), Some(100));
        let nothing = [sample(200, None), sample(600, None)];
        assert_eq!(longest_ms(&[100, 1_000], &nothing), Some(0));
    }

    #[test]
    fn ready_work_that_nobody_fetches_is_one() {
        let samples = [sample(90, 90), sample(300, 300), sample(400, 400)];
        assert_eq!(longest_ms(&[100, 1_000], &samples), Some(900));
        let later = [sample(200, 500), sample(600, 600)];
        assert_eq!(longest_ms(&[100, 1_000], &later), Some(500));
    }

    #[test]
    fn while_nobody_answers_the_last_word_holds() {
        let samples = [sample(90, 250), sample(6_000, None)];
        assert_eq!(longest_ms(&[100, 5_000], &samples), Some(4_750));
        assert_eq!(
            longest_ms(&[100, 300], &samples),
            Some(0),
            "too short to have been sampled"
        );
        assert_eq!(longest_ms(&[100], &samples), None);
    }
}
