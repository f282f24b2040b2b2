//! The figures themselves.

use super::Args;
use serde::Serialize;

const MONTH_S: f64 = 30.0 * 86_400.0;
const GB: f64 = 1e9;
/// A machine that is busy all the time cannot catch up: the fleet is sized at twice the average.
const HEADROOM: f64 = 2.0;

/// What a crawl needs. Rates are averages over a month of 30 days.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Average fetches a second.
    pub fetches_per_s: f64,
    /// What the fetch fleet is sized for.
    pub fleet_fetches_per_s: f64,
    /// Hosts crawled.
    pub hosts: u64,
    /// Fingerprints of 8 bytes.
    pub fingerprints_gb: f64,
    /// Bloom filter over all URLs.
    pub filter_gb: f64,
    /// Its share on each box.
    pub filter_per_box_gb: f64,
    /// Share of new URLs that the filter takes for known, percent.
    pub filter_false_positive_percent: f64,
    /// Fetches open at the same moment at the average rate.
    pub open_fetches: f64,
    /// Boxes: enough for the fleet's rate, and for the average with one lost.
    pub boxes: u64,
    /// Bytes fetched.
    pub fetched_mb_per_s: f64,
    /// Of one box's card.
    pub card_percent: f64,
    /// The most that one host can give in a month.
    pub host_month_million_pages: f64,
    /// Time for the largest site.
    pub largest_site_days: f64,
    /// Its pages that wait beyond the month.
    pub largest_site_waiting_million_pages: f64,
    /// Links to look up.
    pub link_checks_per_s: f64,
    /// Of which new.
    pub new_links_per_s: f64,
    /// Replicas of each filter and row.
    pub replicas: u64,
    /// Fingerprints on all replicas.
    pub replicated_fingerprints_gb: f64,
    /// Filters on all replicas.
    pub replicated_filter_gb: f64,
    /// Filters on each box with all replicas.
    pub replicated_filter_per_box_gb: f64,
    /// Rows of a billion queued URLs on all replicas.
    pub queued_billion_gb: f64,
    /// Pages kept in a month, before compression, with all copies.
    pub pages_tb_per_month: f64,
}

impl Figures {
    /// Computes every figure from the arguments.
    pub fn of(args: &Args) -> Self {
        let rate = args.pages_per_month as f64 / MONTH_S;
        let open = rate * args.fetch_time_ms as f64 / 1_000.0;
        let per_box = args.open_per_box as f64;
        let boxes = ((open * HEADROOM / per_box).ceil()).max((open / per_box).ceil() + 1.0);
        let filter_gb = args.urls as f64 * args.filter_bits_per_url as f64 / 8.0 / GB;
        let fingerprints_gb = args.urls as f64 * 8.0 / GB;
        let fetched = rate * args.page_size_bytes as f64;
        let host_month = MONTH_S * 1_000.0 / args.delay_ms as f64;
        let links = rate * args.links_per_page as f64;
        let replicas = args.replicas as f64;
        Self {
            fetches_per_s: rate,
            fleet_fetches_per_s: rate * HEADROOM,
            hosts: args.hosts,
            fingerprints_gb,
            filter_gb,
            filter_per_box_gb: filter_gb / boxes,
            filter_false_positive_percent: false_positive(args.filter_bits_per_url) * 100.0,
            open_fetches: open,
            boxes: boxes as u64,
            fetched_mb_per_s: fetched / 1e6,
            card_percent: fetched * 8.0 / (args.card_gbit_per_s as f64 * 1e9) * 100.0,
            host_month_million_pages: host_month / 1e6,
            largest_site_days: args.largest_site_pages as f64 * args.delay_ms as f64
                / 1_000.0
                / 86_400.0,
            largest_site_waiting_million_pages: (args.largest_site_pages as f64 - host_month)
                .max(0.0)
                / 1e6,
            link_checks_per_s: links,
            new_links_per_s: links * args.new_links_percent as f64 / 100.0,
            replicas: args.replicas,
            replicated_fingerprints_gb: fingerprints_gb * replicas,
            replicated_filter_gb: filter_gb * replicas,
            replicated_filter_per_box_gb: filter_gb * replicas / boxes,
            queued_billion_gb: args.queued_url_size_bytes as f64 * replicas,
            pages_tb_per_month: args.pages_per_month as f64
                * args.page_size_bytes as f64
                * args.page_copies as f64
                / 1e12,
        }
    }

    /// Name, value and how it comes about, for people.
    pub fn rows(&self) -> Vec<(&'static str, String, String)> {
        let row = |name, value: String, note: &str| (name, value, note.to_owned());
        vec![
            row(
                "fetches",
                format!("{:.0} /s", self.fetches_per_s),
                "pages a month / 30 days",
            ),
            row(
                "fetch fleet sized at",
                format!("{:.0} /s", self.fleet_fetches_per_s),
                "twice that",
            ),
            row("hosts", self.hosts.to_string(), ""),
            row(
                "fingerprints",
                format!("{:.0} GB", self.fingerprints_gb),
                "8 bytes a URL",
            ),
            row(
                "Bloom filter",
                format!("{:.1} GB", self.filter_gb),
                "bits a URL",
            ),
            row(
                "  on each box",
                format!("{:.2} GB", self.filter_per_box_gb),
                "shared out over the boxes",
            ),
            row(
                "  false positives",
                format!("{:.2} %", self.filter_false_positive_percent),
                "each costs one read, never a URL",
            ),
            row(
                "open fetches",
                format!("{:.0}", self.open_fetches),
                "rate x time of a fetch",
            ),
            row(
                "boxes",
                self.boxes.to_string(),
                "twice the average rate fits; the average fits with one box lost",
            ),
            row(
                "fetched",
                format!("{:.1} MB/s", self.fetched_mb_per_s),
                "rate x page size",
            ),
            row(
                "  of a box's card",
                format!("{:.2} %", self.card_percent),
                "if one box fetched it all",
            ),
            row(
                "one host gives at most",
                format!("{:.2} million pages a month", self.host_month_million_pages),
                "one a delay",
            ),
            row(
                "largest site takes",
                format!("{:.1} days", self.largest_site_days),
                "at one a delay",
            ),
            row(
                "  of its pages wait",
                format!("{:.2} million", self.largest_site_waiting_million_pages),
                "beyond the first month",
            ),
            row(
                "link checks",
                format!(
                    "{:.0} /s",
                    (self.link_checks_per_s / 1_000.0).round() * 1_000.0
                ),
                "rate x links a page, to the nearest thousand",
            ),
            row(
                "  of them new",
                format!("{:.0} /s", (self.new_links_per_s / 100.0).round() * 100.0),
                "",
            ),
            row(
                "with replication",
                format!("{} replicas", self.replicas),
                "each holds every row and filter of its shard",
            ),
            row(
                "  fingerprints",
                format!("{:.0} GB", self.replicated_fingerprints_gb),
                "",
            ),
            row(
                "  Bloom filters",
                format!(
                    "{:.1} GB, {:.2} GB a box",
                    self.replicated_filter_gb, self.replicated_filter_per_box_gb
                ),
                "",
            ),
            row(
                "  a billion queued URLs",
                format!("{:.0} GB", self.queued_billion_gb),
                "rows of about 100 bytes",
            ),
            row(
                "pages kept",
                format!("{:.0} TB a month", self.pages_tb_per_month),
                "before compression, all copies",
            ),
        ]
    }
}

/// False positives of a Bloom filter at its design load with the best whole number of hashes:
/// `(1 - e^(-k/b))^k`, `k = round(b ln 2)` (Bloom 1970).
fn false_positive(bits_per_url: u64) -> f64 {
    let bits = bits_per_url as f64;
    let hashes = (bits * std::f64::consts::LN_2).round().max(1.0);
    (1.0 - (-hashes / bits).exp()).powf(hashes)
}
