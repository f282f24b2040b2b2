//! What a cluster is, as a member tells it to an empty directory.

use proto::raft_v1 as pb;
use shard_map::limits::REPLICAS;
use urlkey::FingerprintKey;

use crate::identity::{Descriptor, ShardRange};

impl Descriptor {
    /// As told to an empty directory.
    pub(super) fn to_founding(&self) -> pb::Founding {
        pb::Founding {
            cluster_id: self.cluster_id,
            fingerprint_secret: self.key.to_bytes().to_vec().into(),
            founders: self.founders.clone(),
            shards: self
                .shards
                .iter()
                .map(|r| pb::ShardRange {
                    shard: r.shard,
                    first: r.first,
                    last: r.last,
                })
                .collect(),
            replicas: self.replicas,
        }
    }

    /// As heard by an empty directory; `None` if it makes no sense.
    pub(super) fn of_founding(
        founding: &pb::Founding,
        replica: u64,
        suffixes: &urlkey::SuffixList,
    ) -> Option<Self> {
        let secret: [u8; 16] = founding.fingerprint_secret.as_ref().try_into().ok()?;
        let shards: Vec<ShardRange> = founding
            .shards
            .iter()
            .map(|r| ShardRange {
                shard: r.shard,
                first: r.first,
                last: r.last,
            })
            .collect();
        let makes_sense = founding.cluster_id != 0
            && founding.replicas <= REPLICAS
            && !shards.is_empty()
            && shards.iter().all(|r| r.shard != 0 && r.first <= r.last)
            && shards.windows(2).all(|w| w[0].last < w[1].first);
        makes_sense.then(|| Self {
            replica,
            cluster_id: founding.cluster_id,
            key: FingerprintKey::from_bytes(secret),
            founders: founding.founders.clone(),
            shards,
            replicas: founding.replicas,
            disk: 0,
            suffix_list_digest: suffixes.digest(),
            canonicalizer_version: urlkey::CANONICALIZER_VERSION,
            admitted: false,
            opened: false,
        })
    }
}
