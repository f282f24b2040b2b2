//! Whether every page that a record calls stored can be read from the stores that the record names.

use super::limits::{PAGE_READS, SHOWN};
use crate::cluster::Listed;
use crate::output::{self, CommandError};
use crate::patience::Patience;
use crate::stores::ClusterPages;
use futures::StreamExt;
use page_store::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// URLs whose page no store can give, though one that should have it is there.
    pub unreadable: Vec<String>,
    /// URLs whose page was only in stores that are gone.
    pub gone: Vec<String>,
}

/// A payload: where it should be, and a URL that has it.
#[derive(Debug)]
struct Wanted<'a> {
    url: &'a str,
    stores: BTreeSet<u32>,
}

/// Reads each payload once.
pub async fn read_all(addresses: &[String], listed: &[Listed]) -> Result<PagesRead, CommandError> {
    let cluster = ClusterPages::connect(addresses, None, &mut Patience::new()).await?;
    let here: BTreeSet<u32> = cluster.stores.stores().iter().map(|s| s.store_id).collect();
    let mut found = PagesRead::default();
    let (there, gone): (Vec<_>, Vec<_>) = wanted(listed)?
        .into_iter()
        .partition(|(_, wanted)| !wanted.stores.is_disjoint(&here));
    found.gone = gone.iter().map(|(_, w)| w.url.to_owned()).collect();
    let reads = futures::stream::iter(there).map(|(digest, wanted)| {
        let cluster = &cluster;
        async move {
            let stores: Vec<u32> = wanted.stores.iter().copied().collect();
            let read = cluster.stores.get_from(&stores, &digest).await;
            let why = match read {
                Ok(Some(_)) => return None,
                Ok(None) => "no store knows it".to_owned(),
                Err(error) => error.to_string(),
            };
            Some((wanted.url.to_owned(), why))
        }
    });
    let mut reads = reads.buffer_unordered(PAGE_READS);
    while let Some(failed) = reads.next().await {
        let Some((url, why)) = failed else { continue };
        if found.unreadable.len() < SHOWN {
            output::note(format_args!("the page of {url} cannot be read: {why}"));
        }
        found.unreadable.push(url);
    }
    Ok(found)
}

/// Every payload that a record names.
fn wanted(listed: &[Listed]) -> Result<BTreeMap<Digest, Wanted<'_>>, CommandError> {
    let mut wanted: BTreeMap<Digest, Wanted<'_>> = BTreeMap::new();
    for page in listed.iter().filter(|page| !page.record.digest.is_empty()) {
        let digest: Digest = hex::encode(&page.record.digest)
            .parse()
            .map_err(|e| CommandError::of("a record's digest", e))?;
        let stores = &mut wanted
            .entry(digest)
            .or_insert_with(|| Wanted {
                url: &page.url,
                stores: BTreeSet::new(),
            })
            .stores;
        stores.extend(&page.record.stores);
    }
    Ok(wanted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proto::frontier_v1 as pb;

    #[test]
    fn a_payload_of_two_urls_is_wanted_once_from_the_stores_of_both() {
        let page = |url: &str, digest: Vec<u8>, stores: &[u32]| Listed {
            url: url.to_owned(),
            kind: pb::lease_key::Kind::Page,
            record: pb::UrlRecord {
                digest: digest.into(),
                stores: stores.to_vec(),
                ..pb::UrlRecord::default()
            },
        };
        let listed = [
            page("http://a.example/", vec![1; 32], &[1, 2]),
            page("http://b.example/", vec![1; 32], &[2, 3]),
            page("http://c.example/", Vec::new(), &[]),
        ];
        let wanted = wanted(&listed).unwrap();
        assert_eq!(wanted.len(), 1);
        let only = wanted.values().next().unwrap();
        assert_eq!(only.url, "http://a.example/");
        assert_eq!(only.stores, BTreeSet::from([1, 2, 3]));
        let short = [page("http://a.example/", vec![1; 3], &[1])];
        assert!(super::wanted(&short).is_err());
    }
}
