//! Plain counters. Whoever exports them reads a snapshot; nothing here is labelled by host.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

macro_rules! counters {
    ($(#[doc = $help:literal] $name:ident,)*) => {
        /// Counters of one fetcher process since its start.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: Counter,)*
            reasons: Mutex<BTreeMap<(i32, String), u64>>,
        }

        impl Metrics {
            /// Every counter by name.
            #[must_use]
            pub fn snapshot(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }

            /// What each of them counts, in the same order.
            #[must_use]
            pub fn help() -> &'static [&'static str] {
                &[$($help,)*]
            }
        }
    };
}

/// A counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The count.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

counters! {
    /// Leases received.
    leases,
    /// Leases dropped because they were held or finished already.
    duplicate_leases,
    /// Lease calls cut short because their slots were wanted.
    polls_cut,
    /// Leases given back unstarted.
    released,
    /// Leases given back because a whole fetch no longer fitted before the deadline.
    out_of_time,
    /// Pages reported as stored.
    stored,
    /// Pages reported as stored whose bytes were already in the store.
    duplicates,
    /// Pages reported as stored that were cut at a cap.
    truncated,
    /// Pages reported as stored that are marked noindex.
    noindex,
    /// 304 to a conditional request.
    not_modified,
    /// Redirects.
    redirects,
    /// Final answers without content.
    http_errors,
    /// 429 and 5xx.
    http_busy,
    /// No usable answer.
    network_errors,
    /// Forbidden by robots.txt.
    disallowed,
    /// Refused by a rule of ours.
    refused,
    /// Names that do not exist.
    dns_not_found,
    /// Requests not made because an address of the host is private or special.
    addresses_refused,
    /// Put back for no fault of the host.
    requeued,
    /// Robots files fetched, by whatever end.
    robots,
    /// Errands run.
    errands,
    /// Decoded bytes of stored pages.
    payload_bytes,
    /// Links found in pages, in scope.
    links_found,
    /// Links not sent, for they were acknowledged before.
    links_known,
    /// Links the frontier took as new.
    links_new,
    /// Links refused by the frontier.
    links_refused,
    /// Links beyond a page's cap.
    links_dropped,
    /// Links whose owner could not be reached; they travelled with the report.
    links_undelivered,
    /// Reports that closed their lease.
    reports_closed,
    /// Reports whose lease was lost.
    reports_lost,
    /// Reports refused as invalid, or given up after their time.
    reports_failed,
    /// Slots that went on to the next lease before the frontier had answered for the last one.
    slots_overtaken,
    /// Robots bodies fetched from their shard.
    robots_bodies,
    /// Leases given back because the shard no longer had the rules they name.
    robots_missing,
    /// Times the page store refused to write.
    store_full,
    /// Tasks that ended without a report of their own.
    orphans,
}

impl Metrics {
    /// Page outcomes by code and reason. Reasons are ours or `http_` and a status, so there are few.
    #[must_use]
    pub fn page_reasons(&self) -> Vec<(Code, String, u64)> {
        let reasons = self.reasons.lock();
        let known = |code: i32| Code::try_from(code).unwrap_or_default();
        reasons
            .iter()
            .map(|((code, reason), count)| (known(*code), reason.clone(), *count))
            .collect()
    }

    /// Counts one page outcome.
    pub(crate) fn count_page(&self, page: &pb::PageOutcome) {
        match page.code() {
            Code::Stored => self.stored.increment(),
            Code::NotModified => self.not_modified.increment(),
            Code::Redirect => self.redirects.increment(),
            Code::HttpError => self.http_errors.increment(),
            Code::HttpBusy => self.http_busy.increment(),
            Code::NetworkError => self.network_errors.increment(),
            Code::Disallowed => self.disallowed.increment(),
            Code::Refused => self.refused.increment(),
            Code::DnsNotFound => self.dns_not_found.increment(),
            Code::Requeue => self.requeued.increment(),
            Code::Unspecified => {}
        }
        if page.truncated {
            self.truncated.increment();
        }
        *self
            .reasons
            .lock()
            .entry((page.code, page.reason.clone()))
            .or_insert(0) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_every_counter() {
        let metrics = Metrics::default();
        metrics.links_new.add(3);
        metrics.orphans.increment();
        let all = metrics.snapshot();
        assert!(all.contains(&("links_new", 3)) && all.contains(&("orphans", 1)));
        assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 4);
    }

    #[test]
    fn outcomes_are_counted_by_code_and_reason() {
        let metrics = Metrics::default();
        let page = pb::PageOutcome {
            code: Code::HttpError.into(),
            reason: "http_404".into(),
            ..Default::default()
        };
        metrics.count_page(&page);
        metrics.count_page(&page);
        assert_eq!(
            metrics.page_reasons(),
            [(Code::HttpError, "http_404".to_owned(), 2)]
        );
        assert_eq!(metrics.http_errors.get(), 2);
    }
}
