//! Heavy-tailed sites: the one of rank r has `largest / r^exponent` pages, at least one.

use super::Args;
use crate::bench::rng::{mix, share};
use crate::bench::urls::CRAWL;
use proto::frontier_v1 as pb;
use urlkey::{SuffixList, partition_hash};

/// Pages that a page links to for the first time.
const BRANCHES: u64 = 6;
/// Priorities, as many as a byte has; 0 is the best.
const PRIORITIES: f64 = 256.0;

/// A page: number of its site, number of the page there; page 0 is the root.
pub type PageId = (u32, u32);

/// All sites.
#[derive(Debug)]
pub struct Sites {
    partitions: Vec<u64>,
    sizes: Vec<u32>,
    seed: u64,
}

impl Sites {
    /// Makes them, the largest first.
    pub fn new(args: &Args) -> Self {
        let suffixes = SuffixList::shipped();
        let largest = args.largest_site_pages as f64 / f64::from(args.scale);
        let size = |site: u32| {
            let size = largest / f64::from(site + 1).powf(args.exponent);
            size.round().clamp(1.0, f64::from(u32::MAX)) as u32
        };
        let partition = |site: u32| partition_hash(&suffixes.site(&name(site))).0;
        Self {
            partitions: (0..args.hosts).map(partition).collect(),
            sizes: (0..args.hosts).map(size).collect(),
            seed: args.seed,
        }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.sizes.len()).unwrap_or(u32::MAX)
    }

    /// Pages of a site.
    pub fn size(&self, site: u32) -> u32 {
        self.sizes.get(site as usize).copied().unwrap_or(0)
    }

    /// Pages of all sites.
    pub fn pages(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }

    /// How good a page is, 0 to 255; 0 is the best. Goodness has nothing to do with where the page lies.
    pub fn priority(&self, (site, page): PageId) -> u32 {
        let drawn = share(mix(
            mix(self.seed ^ u64::from(site)).wrapping_add(u64::from(page))
        ));
        (drawn * PRIORITIES) as u32
    }

    /// Mean priority of all pages of a site.
    pub fn mean_priority(&self, site: u32) -> f64 {
        let size = self.size(site);
        let sum: u64 = (0..size)
            .map(|page| u64::from(self.priority((site, page))))
            .sum();
        sum as f64 / f64::from(size.max(1))
    }

    /// The pages that a page links to: some of its site that nobody links to otherwise, and the root of another site.
    pub fn links(&self, (site, page): PageId) -> impl Iterator<Item = PageId> {
        let size = u64::from(self.size(site));
        let first = u64::from(page) * BRANCHES + 1;
        let own = (first..(first + BRANCHES).min(size)).map(move |page| (site, page as u32));
        let other = mix(self.seed ^ mix(u64::from(site) << 32 | u64::from(page)));
        own.chain([((other % u64::from(self.len().max(1))) as u32, 0)])
    }

    /// A page as a link.
    pub fn link(&self, id: PageId) -> pb::Link {
        let (site, page) = id;
        pb::Link {
            crawl: CRAWL,
            url: format!(
                "http://{}/section-{:02}/page-{page:08}.html",
                name(site),
                page % 37
            ),
            partition: self.partitions.get(site as usize).copied().unwrap_or(0),
            priority: self.priority(id),
            depth: 1,
            ..pb::Link::default()
        }
    }

    /// A number that is the same whenever a site is contacted for that time.
    pub fn draw(&self, site: u32, contact: u32) -> u64 {
        mix(mix(!self.seed ^ u64::from(site)).wrapping_add(u64::from(contact)))
    }
}

fn name(site: u32) -> String {
    format!("www.site{site}.example")
}

/// The site of an origin or URL.
pub fn site_of(url: &str) -> Option<u32> {
    let rest = url.strip_prefix("http://www.site")?;
    rest.split_once('.')?.0.parse().ok()
}

/// The page that a URL names.
pub fn page_of(url: &str) -> Option<PageId> {
    let page = url.rsplit_once("/page-")?.1.strip_suffix(".html")?;
    Some((site_of(url)?, page.parse().ok()?))
}
