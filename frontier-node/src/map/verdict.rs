//! What the map answered to a command, as bytes: in replies of the log, and between nodes.

use bytes::Bytes;
use pb::map_verdict::Verdict;
use prost::Message;
use proto::raft_v1 as pb;
use shard_map::{Accepted, Refusal};

/// As it travels.
pub(crate) fn to_wire(result: Result<Accepted, String>) -> pb::MapVerdict {
    let verdict = match result {
        Ok(accepted) => Verdict::Accepted(pb::MapAccepted {
            version: accepted.version,
            changed: accepted.changed,
            job: accepted.job,
        }),
        Err(reason) => Verdict::Refused(reason),
    };
    pb::MapVerdict {
        verdict: Some(verdict),
    }
}

/// The answer of a node that does not lead group 0: where its leader is as far as it knows, or empty.
pub(crate) const fn elsewhere(leader: String) -> pb::MapVerdict {
    pb::MapVerdict {
        verdict: Some(Verdict::Elsewhere(leader)),
    }
}

/// What a node answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The map's answer.
    Verdict(Result<Accepted, String>),
    /// It is to be asked of another node.
    Elsewhere(String),
}

/// As it came; `None` if it makes no sense.
pub(super) fn from_wire(verdict: pb::MapVerdict) -> Option<Answer> {
    Some(match verdict.verdict? {
        Verdict::Accepted(accepted) => Answer::Verdict(Ok(Accepted {
            version: accepted.version,
            changed: accepted.changed,
            job: accepted.job,
        })),
        Verdict::Refused(reason) => Answer::Verdict(Err(reason)),
        Verdict::Elsewhere(leader) => Answer::Elsewhere(leader),
    })
}

/// The reply to one entry.
pub(super) fn encode(result: Result<Accepted, Refusal>) -> Bytes {
    let result = result.map_err(|refusal| refusal.to_string());
    to_wire(result).encode_to_vec().into()
}

/// The reply to one entry; `None` if it makes no sense.
pub(super) fn decode(bytes: &Bytes) -> Option<Result<Accepted, String>> {
    match from_wire(pb::MapVerdict::decode(bytes.as_ref()).ok()?)? {
        Answer::Verdict(verdict) => Some(verdict),
        Answer::Elsewhere(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_refusals_come_back() {
        for job in [None, Some(7)] {
            let accepted = Accepted {
                version: 3,
                changed: true,
                job,
            };
            assert_eq!(decode(&encode(Ok(accepted))), Some(Ok(accepted)));
        }
        let refused = decode(&encode(Err(Refusal::UnknownShard(9))));
        assert_eq!(refused, Some(Err("no shard 9".to_owned())));
        assert_eq!(decode(&Bytes::new()), None);
        let hint = elsewhere("a:1".to_owned());
        let bytes = Bytes::from(hint.encode_to_vec());
        assert_eq!(decode(&bytes), None, "no entry is answered so");
        assert_eq!(from_wire(hint), Some(Answer::Elsewhere("a:1".to_owned())));
    }
}
