//! What all processes of a cluster must agree on before a URL has the same name and the same owner for each of them.

use crate::refusal::Refusal;

/// The identity. The fingerprint secret itself is not in the map, which clients may read; only a digest that tells two
/// apart.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Identity {
    /// XXH3-64 of the suffix list's text.
    #[prost(fixed64, tag = "1")]
    pub suffix_list_digest: u64,
    /// Version of the canonicaliser.
    #[prost(uint32, tag = "2")]
    pub canonicalizer_version: u32,
    /// Which fingerprint key: a one-way digest of it.
    #[prost(fixed64, tag = "3")]
    pub fingerprint_key_id: u64,
}

impl Identity {
    /// Whether another is the same; the refusal names the first thing that differs.
    ///
    /// # Errors
    ///
    /// [`Refusal::IdentityMismatch`].
    pub fn require(&self, given: &Self) -> Result<(), Refusal> {
        let pairs = [
            (
                "canonicaliser version",
                u64::from(self.canonicalizer_version),
                u64::from(given.canonicalizer_version),
            ),
            (
                "suffix list digest",
                self.suffix_list_digest,
                given.suffix_list_digest,
            ),
            (
                "fingerprint key id",
                self.fingerprint_key_id,
                given.fingerprint_key_id,
            ),
        ];
        match pairs.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            Some((what, ours, given)) => Err(Refusal::IdentityMismatch { what, ours, given }),
            None => Ok(()),
        }
    }
}
