//! `adopt`: the map takes over what an unsafe recovery made of a shard.

use super::args::AdoptArgs;
use super::ask::{Asker, End};
use proto::admin_v1 as pb;
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes the map agree with a shard that went on alone, and sets its clocks once more.
pub(super) async fn run(asker: &mut Asker, args: &AdoptArgs) -> Result<(), End> {
    if !args.yes {
        let reason = "say --yes if the shard's other replicas are gone for good: they never come back into it";
        return Err(End::Refused(reason.to_owned()));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let request = pb::RecoverShardRequest {
        // Another than that of any recovery before.
        recovery: since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(1)),
        shard: args.shard,
        adopt: true,
    };
    let answer = asker.ask(async |admin| admin.recover_shard(request).await);
    let answer = answer.await?;
    if !answer.refused.is_empty() {
        return Err(End::Refused(answer.refused));
    }
    let (shard, wait_ms) = (args.shard, answer.wait_ms);
    asker.show(
        || json!({ "shard": shard, "hosts_wait_ms": wait_ms }),
        || {
            format!(
                "the map has shard {shard} with one replica; its hosts wait {} s",
                wait_ms.div_ceil(1_000)
            )
        },
    )
}
