//! What the machine counts since the shard's creation.

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A counter. The order is that of the stored list: append only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Counter { $($(#[$doc])* $variant,)* }

        impl Counter {
            /// All, in stored order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Stable snake_case name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

counters! {
    /// Links that were known.
    DiscoverKnown = "discover_known",
    /// Items of another shard, in any command.
    WrongShard = "wrong_shard",
    /// Refused links and errands, by reason.
    RefusedUnknownCrawl = "discover_refused_unknown_crawl",
    /// As above.
    RefusedCrawlRemoved = "discover_refused_crawl_removed",
    /// As above.
    RefusedDepth = "discover_refused_depth",
    /// As above.
    RefusedRedirectHops = "discover_refused_redirect_hops",
    /// As above.
    RefusedHostQueueFull = "discover_refused_host_queue_full",
    /// As above.
    RefusedSiteQueueFull = "discover_refused_site_queue_full",
    /// As above.
    RefusedSiteHosts = "discover_refused_site_hosts",
    /// As above.
    RefusedHostLanes = "discover_refused_host_lanes",
    /// As above.
    RefusedMalformed = "discover_refused_malformed",
    /// As above.
    RefusedErrandsFull = "discover_refused_errands_full",
    /// As above.
    RefusedErrandHops = "discover_refused_errand_hops",
    /// Priorities above 255, taken as 255.
    PriorityClamped = "priority_clamped",
    /// Page leases granted.
    LeasedPages = "leases_page",
    /// Robots leases granted.
    LeasedRobots = "leases_robots",
    /// Errand leases granted.
    LeasedErrands = "leases_errand",
    /// Leases that expired.
    Expired = "leases_expired",
    /// Leases that were released.
    Released = "leases_released",
    /// Lease calls answered again.
    LeaseRepeated = "lease_calls_repeated",
    /// Lease calls with an old number.
    LeaseStale = "lease_calls_stale",
    /// Reports and releases answered again.
    ReportRepeated = "reports_repeated",
    /// Reports and releases of an expired lease.
    LostExpired = "reports_lost_expired",
    /// Reports and releases of a lease granted again.
    LostSuperseded = "reports_lost_superseded",
    /// Reports and releases of an unknown lease.
    LostUnknown = "reports_lost_unknown",
    /// Reports and releases that make no sense.
    ReportInvalid = "reports_invalid",
    /// Pages stored.
    PageStored = "pages_stored",
    /// 304 to a conditional request.
    PageNotModified = "pages_not_modified",
    /// Redirects.
    PageRedirect = "pages_redirect",
    /// Final answers without content.
    PageHttpError = "pages_http_error",
    /// 429 and 5xx.
    PageHttpBusy = "pages_http_busy",
    /// No usable answer.
    PageNetworkError = "pages_network_error",
    /// Forbidden by robots.txt.
    PageDisallowed = "pages_disallowed",
    /// Refused by a rule of the fetcher.
    PageRefused = "pages_refused",
    /// No such name.
    PageDnsNotFound = "pages_dns_not_found",
    /// Not the host's fault.
    PageRequeue = "pages_requeue",
    /// 304 to a request without validators.
    UnexpectedNotModified = "pages_unexpected_not_modified",
    /// Visits whose content had changed.
    PageChanged = "pages_changed",
    /// URLs that ended after their last attempt.
    Unfetchable = "ended_unfetchable",
    /// URLs that ended because their robots.txt was unreachable for too long.
    RobotsUnreachable = "ended_robots_unreachable",
    /// Due visits that went to the queue.
    Promoted = "visits_promoted",
    /// Robots results with rules.
    RobotsRules = "robots_rules",
    /// Robots results that allow all.
    RobotsAllowAll = "robots_allow_all",
    /// Robots results that reached nothing.
    RobotsFailed = "robots_unreachable",
    /// Robots results that changed nothing.
    RobotsNotModified = "robots_not_modified",
    /// Robots results that wait for an errand.
    RobotsPending = "robots_pending",
    /// Old rules kept because the new body had no valid line.
    RobotsKept = "robots_kept",
    /// Results of an older attempt.
    RobotsOutdated = "robots_outdated",
    /// Crawl delays above a crawl's cap.
    CrawlDelayCapped = "robots_crawl_delay_capped",
    /// Hosts that began to back off.
    BackOffs = "back_offs",
    /// Times a crawl's budget on a host was spent.
    BudgetSpent = "budgets_spent",
    /// Errands placed.
    ErrandsPlaced = "errands_placed",
    /// Errands dropped after too many expired leases.
    ErrandsDropped = "errands_dropped",
    /// Reports whose outcome was not taken because the outbox was full.
    OutboxFull = "outbox_full",
    /// Hosts created.
    HostsCreated = "hosts_created",
    /// Hosts forgotten because nothing referred to them.
    HostsDropped = "hosts_dropped",
    /// Pages done on hosts that were forgotten since.
    DroppedDone = "hosts_dropped_done",
    /// Validators too long to keep.
    ValidatorDropped = "validators_dropped",
    /// Splits of this shard.
    Splits = "splits",
    /// Hosts that went to children.
    HostsSplitOff = "hosts_split_off",
    /// Hosts that came with the split that made the shard.
    HostsInherited = "hosts_inherited",
    /// URLs removed here whose end stands in the books of the shard this one was split from.
    SplitTakenOver = "split_taken_over",
    /// Recoveries: after a restore, or a lost quorum.
    Recoveries = "recoveries",
    /// Pages queued again because their last copy was in a store that is gone.
    LostStoreRequeued = "lost_store_requeued",
    /// Reports whose page was queued again because they named stores that are gone.
    LostStoreReports = "lost_store_reports",
    /// New links of aliased hosts, answered with their new name.
    DiscoverMoved = "discover_moved",
    /// URLs of aliased hosts that were removed here and went to the outbox under their new name.
    AliasMoved = "alias_moved",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_positions_pinned() {
        let names: BTreeSet<_> = Counter::ALL.iter().map(|counter| counter.name()).collect();
        assert_eq!(names.len(), Counter::ALL.len());
        assert_eq!(Counter::DiscoverKnown as usize, 0);
        assert!(
            Counter::ALL
                .iter()
                .enumerate()
                .all(|(position, counter)| *counter as usize == position)
        );
    }
}
