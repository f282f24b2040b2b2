//! Why a host is or is not released now, in words.

use proto::frontier_v1 as pb;

/// One sentence.
pub(super) fn words(host: &pb::HostRecord) -> String {
    let left = |until_ms: u64| time(until_ms.saturating_sub(host.now_ms));
    let why = host.waits_for.as_str();
    match why {
        "" => "ready: the next poll for leases may have it".to_owned(),
        "lease" => {
            let deadline_ms = host.lease.map_or(0, |lease| lease.deadline_ms);
            format!(
                "leased: the lease ends by a report, or in {}",
                left(deadline_ms)
            )
        }
        "work" => "idle: nothing of it is queued or scheduled".to_owned(),
        "next_visit" => "idle until a visit is due".to_owned(),
        "paused_shard" => "held: everything is paused (ctl resume all)".to_owned(),
        "paused_host" => format!("held: the host is paused (ctl resume {})", host.host),
        "block" => format!("held: blocked for another {}", left(host.blocked_until_ms)),
        "back_off" => format!(
            "backs off for another {} after {} failures in a row",
            left(host.back_off_until_ms),
            host.failures
        ),
        "clock" => format!(
            "waits for its clock: {} left of {}",
            left(host.ready_at_ms),
            time(host.delay_ms)
        ),
        other => lane_words(other).to_owned(),
    }
}

/// Why nothing of a lane is released.
pub(super) fn lane_words(why: &str) -> &str {
    match why {
        "" => "-",
        "removal" => "its crawl is being removed",
        "paused_crawl" => "its crawl is paused",
        "budget" => "its budget is spent",
        "ending" => "its URLs are ending: robots.txt was unreachable too long",
        "robots_pending" => "robots.txt is asked of another host",
        "robots_unreachable" => "robots.txt is unreachable",
        other => other,
    }
}

/// A time for people: the two largest units.
pub(super) fn time(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{}.{:03} s", seconds, ms % 1_000),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        assert_eq!(time(1_234), "1.234 s");
        assert_eq!(time(61_500), "1 min 1 s");
        assert_eq!(time(7_260_000), "2 h 1 min");
        assert_eq!(time(90_000_000), "1 d 1 h");
    }

    #[test]
    fn waits_say_how_long() {
        let host = pb::HostRecord {
            host: "a.example".to_owned(),
            now_ms: 1_000,
            ready_at_ms: 1_750,
            delay_ms: 2_000,
            waits_for: "clock".to_owned(),
            ..pb::HostRecord::default()
        };
        assert_eq!(words(&host), "waits for its clock: 0.750 s left of 2.000 s");
        let waits_for = |why: &str| pb::HostRecord {
            waits_for: why.to_owned(),
            ..host.clone()
        };
        assert!(words(&waits_for("")).starts_with("ready"));
        assert!(words(&waits_for("paused_host")).ends_with("resume a.example)"));
        assert_eq!(words(&waits_for("budget")), "its budget is spent");
        assert_eq!(words(&waits_for("something_new")), "something_new");
    }
}
