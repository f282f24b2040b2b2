//! The stores of one directory listing, and their ring.

use std::collections::BTreeMap;
use std::sync::Arc;

use page_store::Digest;

use super::ClusterOptions;
use super::member::Member;
use super::metrics::Counters;
use crate::Ring;
use crate::limits::STORES;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Members {
    listed: Vec<(u32, String)>,
    ring: Ring,
    by_id: BTreeMap<u32, Arc<Member>>,
    /// Sent by stores that left.
    left_payload_bytes: u64,
}

impl Members {
    /// Whether it is made of this listing.
    pub(crate) fn is_of(&self, listed: &[(u32, String)]) -> bool {
        self.listed == listed
    }

    /// The same for another listing; a store that stays where it was keeps its connection and its health.
    pub(crate) fn become_of(
        &self,
        listed: Vec<(u32, String)>,
        options: &ClusterOptions,
        counters: &Arc<Counters>,
    ) -> Self {
        if listed.len() > STORES {
            tracing::error!(
                listed = listed.len(),
                most = STORES,
                "too many page stores: some are left out"
            );
        }
        let mut by_id = BTreeMap::new();
        for (store_id, address) in listed.iter().take(STORES) {
            let kept = self.by_id.get(store_id);
            if let Some(member) = kept.filter(|member| member.client().address() == address) {
                by_id.insert(*store_id, Arc::clone(member));
                continue;
            }
            match Member::new(*store_id, address, options, counters) {
                Ok(member) => {
                    by_id.insert(*store_id, Arc::new(member));
                }
                Err(error) => tracing::error!(store_id, %error, "a page store is left out"),
            }
        }
        let left = self
            .by_id
            .iter()
            .filter(|(id, member)| !by_id.get(id).is_some_and(|new| Arc::ptr_eq(new, member)))
            .map(|(_, member)| member.client().sent_payload_bytes());
        Self {
            left_payload_bytes: self.left_payload_bytes + left.sum::<u64>(),
            ring: Ring::new(listed.iter().take(STORES).map(|(store_id, _)| *store_id)),
            listed,
            by_id,
        }
    }

    pub(crate) fn get(&self, store_id: u32) -> Option<Arc<Member>> {
        self.by_id.get(&store_id).map(Arc::clone)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.by_id.values()
    }

    /// In a digest's ring order.
    pub(crate) fn order(&self, digest: &Digest) -> Vec<Arc<Member>> {
        let order = self.ring.order(digest).into_iter();
        order.filter_map(|store_id| self.get(store_id)).collect()
    }

    pub(crate) fn sent_payload_bytes(&self) -> u64 {
        let sent = self
            .all()
            .map(|member| member.client().sent_payload_bytes());
        self.left_payload_bytes + sent.sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_stays_is_kept_who_moved_is_made_anew() {
        let (options, counters) = (ClusterOptions::default(), Arc::default());
        let list = |ports: &[(u32, u16)]| -> Vec<(u32, String)> {
            let stores = ports.iter();
            stores
                .map(|(id, port)| (*id, format!("127.0.0.1:{port}")))
                .collect()
        };
        let first = Members::default().become_of(list(&[(1, 10), (2, 20)]), &options, &counters);
        assert!(first.is_of(&list(&[(1, 10), (2, 20)])));
        let second = first.become_of(list(&[(1, 10), (2, 21), (3, 30)]), &options, &counters);
        let same = |id: u32| {
            let (old, new) = (first.get(id), second.get(id));
            old.zip(new)
                .is_some_and(|(old, new)| Arc::ptr_eq(&old, &new))
        };
        assert_eq!((same(1), same(2), same(3)), (true, false, false));
        assert_eq!(second.order(&Digest::of(b"x")).len(), 3);
        let broken = second.become_of(vec![(4, "http://a b".to_owned())], &options, &counters);
        assert!(broken.get(4).is_none() && broken.all().count() == 0);
    }
}
