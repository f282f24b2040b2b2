//! The name of a payload: its SHA-256.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// SHA-256 of a payload. Displayed as 64 lower-case hex digits; parsed from hex with or without a `sha256:` prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// What is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest: need 64 hex digits, optionally after \"sha256:\"")]
pub struct ParseDigestError;

impl Digest {
    /// The digest of these bytes.
    pub fn of(payload: &[u8]) -> Digest {
        Digest(Sha256::digest(payload).into())
    }

    /// The digest of several pieces, as if they were one.
    pub(crate) fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// The value of a WARC digest field: a label and the hex digits.
    pub(crate) fn field_value(&self) -> String {
        format!("sha256:{self}")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Digest, ParseDigestError> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| ParseDigestError)?;
        Ok(Digest(bytes))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn known_value_round_trips_with_and_without_label() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), abc);
        assert_eq!(Digest::of_parts(&[b"a", b"", b"bc"]), digest);
        assert_eq!(abc.parse::<Digest>().unwrap(), digest);
        assert_eq!(
            format!("sha256:{}", abc.to_uppercase())
                .parse::<Digest>()
                .unwrap(),
            digest
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "sha256:",
            "sha1:00",
            "zz7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "00",
        ] {
            assert_eq!(text.parse::<Digest>(), Err(ParseDigestError), "{text}");
        }
    }
}
