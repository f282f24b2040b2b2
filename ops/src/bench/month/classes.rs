//! Hosts by size, against what politeness allows.

use super::contacts::{Contacts, Seen};
use super::crawl::Shape;
use super::sites::Sites;
use crate::bench::outcome::{ratio, rounded};
use serde_json::{Value, json};

/// The classes' smallest sizes, in simulated pages.
const FROM_PAGES: [u32; 6] = [1, 2, 10, 100, 1_000, 10_000];
/// Sites that are told one by one.
const LARGEST_SITES: usize = 10;
const DAY_MS: u64 = 86_400_000;

/// Sums over the hosts of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Class {
    from_pages: u32,
    hosts: u64,
    /// Hosts of which every page is in.
    done_hosts: u64,
    pages: u64,
    /// What politeness allows of them.
    allowed: u64,
    fetched: u64,
    robots: u64,
    /// When the last of the hosts that are done was.
    last_done_days: f64,
}

impl Class {
    fn add(&mut self, (size, allowed): (u32, u64), seen: Seen) {
        self.hosts += 1;
        self.pages += u64::from(size);
        self.allowed += allowed;
        self.fetched += u64::from(seen.pages);
        self.robots += u64::from(seen.robots);
        if seen.pages >= size {
            self.done_hosts += 1;
            self.last_done_days = self.last_done_days.max(seen.last_page_days());
        }
    }

    fn detail(&self) -> Value {
        json!({
            "from_pages": self.from_pages,
            "hosts": self.hosts,
            "done_hosts": self.done_hosts,
            "last_done_days": rounded(self.last_done_days),
            "pages": self.pages,
            "allowed": self.allowed,
            "fetched": self.fetched,
            "percent_of_allowed": rounded(percent(self.fetched, self.allowed)),
            "waiting": self.pages - self.fetched,
            "robots": self.robots,
        })
    }
}

/// One of the largest sites.
#[derive(Debug, Clone, Copy)]
struct Site {
    pages: u32,
    fetched: u32,
    robots: u32,
    /// Mean priority of what was fetched, and of what waits; 0 is the best.
    priorities: (f64, f64),
}

/// All classes.
#[derive(Debug)]
pub struct Classes {
    classes: Vec<Class>,
    largest: Vec<Site>,
    shape: Shape,
    /// Of the hosts with more pages than a month allows: allowed, fetched, fetched by somebody who has nothing else to do.
    saturated: (u64, u64, u64),
}

impl Classes {
    /// Of all sites.
    pub fn of(sites: &Sites, contacts: &Contacts, shape: Shape) -> Self {
        let class = |from_pages| Class {
            from_pages,
            ..Class::default()
        };
        let mut classes = FROM_PAGES.map(class).to_vec();
        let mut saturated = (0, 0, 0);
        for site in 0..sites.len() {
            let (size, seen) = (sites.size(site), contacts.of(site));
            let allowed = shape.allowed(size);
            let place = FROM_PAGES.partition_point(|from| *from <= size);
            if let Some(class) = place.checked_sub(1).and_then(|at| classes.get_mut(at)) {
                class.add((size, allowed), seen);
            }
            if u64::from(size) > shape.ceiling() {
                saturated.0 += allowed;
                saturated.1 += u64::from(seen.pages);
                saturated.2 += alone(sites, site, shape);
            }
        }
        let largest = (0..sites.len()).take(LARGEST_SITES);
        Self {
            classes,
            largest: largest
                .map(|site| told(sites, site, contacts.of(site)))
                .collect(),
            shape,
            saturated,
        }
    }

    /// Pages of all hosts.
    pub fn fetched(&self) -> u64 {
        self.classes.iter().map(|class| class.fetched).sum()
    }

    /// Robots files of all hosts.
    pub fn robots(&self) -> u64 {
        self.classes.iter().map(|class| class.robots).sum()
    }

    /// What the hosts gave that have more than a month's pages, of one page a delay.
    pub fn saturated_percent(&self) -> f64 {
        percent(self.saturated.1, self.saturated.0)
    }

    /// The same, had each been alone.
    pub fn alone_percent(&self) -> f64 {
        percent(self.saturated.2, self.saturated.0)
    }

    /// For the outcome's detail; classes without a host are left out.
    pub fn detail(&self) -> Vec<Value> {
        let classes = self.classes.iter().filter(|class| class.hosts > 0);
        classes.map(Class::detail).collect()
    }

    /// The largest sites one by one: what they gave, what waits and how long, at the pace of this month.
    pub fn largest_sites(&self) -> Vec<Value> {
        let ceiling = self.shape.ceiling();
        let days = self.shape.lasts_ms as f64 / DAY_MS as f64;
        let site = |site: &Site| {
            let waiting = u64::from(site.pages - site.fetched);
            let more_days = ratio(waiting as f64 * days, f64::from(site.fetched));
            json!({
                "pages": site.pages,
                "fetched": site.fetched,
                "percent_of_allowed": rounded(percent(u64::from(site.fetched), self.shape.allowed(site.pages))),
                "budget_spent_percent": rounded(percent(u64::from(site.fetched + site.robots), ceiling)),
                "waiting": waiting,
                "waits_more_days": rounded(more_days),
                "mean_priority_fetched": rounded(site.priorities.0),
                "mean_priority_waiting": rounded(site.priorities.1),
            })
        };
        self.largest.iter().map(site).collect()
    }
}

fn told(sites: &Sites, site: u32, seen: Seen) -> Site {
    let pages = sites.size(site);
    let all = sites.mean_priority(site) * f64::from(pages);
    let waiting = f64::from(pages.saturating_sub(seen.pages));
    let fetched = seen.priorities as f64;
    Site {
        pages,
        fetched: seen.pages,
        robots: seen.robots,
        priorities: (
            ratio(fetched, f64::from(seen.pages)),
            ratio(all - fetched, waiting),
        ),
    }
}

/// Pages that somebody fetches of one site who has nothing else to do: the next request when the delay is over since the
/// first byte of the last answer, and its fetch has ended. A robots file a day.
fn alone(sites: &Sites, site: u32, shape: Shape) -> u64 {
    let (mut now_ms, mut pages, mut contacts, mut robots_until_ms) = (0, 0, 0, 0);
    while pages < u64::from(sites.size(site)) {
        let (first_byte_ms, fetch_ms) = shape.fetch(sites.draw(site, contacts));
        if now_ms + fetch_ms >= shape.lasts_ms {
            break;
        }
        contacts += 1;
        if now_ms >= robots_until_ms {
            robots_until_ms = now_ms + fetch_ms + DAY_MS;
        } else {
            pages += 1;
        }
        now_ms += fetch_ms.max(first_byte_ms + shape.delay_ms);
    }
    pages
}

fn percent(part: u64, whole: u64) -> f64 {
    ratio(part as f64, whole as f64) * 100.0
}
