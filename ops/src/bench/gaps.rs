//! The longest time between two grants.

use std::time::Duration;

/// The longest time between two neighbours of sorted times, of those that reach into the window `from..to`. Where the times
/// begin after the window does, or end before, it is bounded by the window.
pub fn longest(times: &[Duration], from: Duration, to: Duration) -> Duration {
    let begins = times.first().is_none_or(|first| *first > from);
    let ends = times.last().is_none_or(|last| *last < to);
    let mut all = Vec::with_capacity(times.len() + 2);
    all.extend(begins.then_some(from));
    all.extend(times);
    all.extend(ends.then_some(to));
    all.windows(2)
        .filter(|pair| pair[1] > from && pair[0] < to)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::longest;
    use std::time::Duration;

    fn ms(times: &[u64], from: u64, to: u64) -> u128 {
        let of = Duration::from_millis;
        let times: Vec<Duration> = times.iter().map(|ms| of(*ms)).collect();
        longest(&times, of(from), of(to)).as_millis()
    }

    #[test]
    fn a_gap_counts_whole_where_it_reaches_into_the_window() {
        let times = [0, 10, 400, 410, 450, 800];
        assert_eq!(ms(&times, 405, 500), 350, "begun in it, ended after it");
        assert_eq!(ms(&times, 100, 405), 390, "begun before it");
        assert_eq!(ms(&times, 410, 450), 40);
    }

    #[test]
    fn where_nothing_was_granted_the_window_bounds_it() {
        assert_eq!(ms(&[], 100, 350), 250);
        assert_eq!(ms(&[300, 310], 100, 350), 200);
        assert_eq!(ms(&[90, 110], 100, 350), 240);
    }
}
