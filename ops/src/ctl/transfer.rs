//! `transfer-leader`: a leadership handed over.

use super::args::TransferArgs;
use super::ask::{Asker, End};
use proto::admin_v1 as pb;
use serde_json::json;

/// Asks for a hand-over, and waits until it is seen if that is wanted.
pub(super) async fn run(asker: &mut Asker, args: &TransferArgs) -> Result<(), End> {
    let request = pb::TransferLeaderRequest {
        shard: args.shard,
        node: args.node,
    };
    let answer = asker.ask(async |admin| admin.transfer_leader(request).await);
    let answer = answer.await?;
    if !answer.refused.is_empty() {
        return Err(End::Refused(answer.refused));
    }
    let mut is_led = answer.leads_already;
    if args.wait.wait && !is_led {
        let what = format!("the hand-over of shard {}", args.shard);
        let seen = asker.wait_for(args.wait.within, &what, async |asker| {
            seen(asker, args).await
        });
        seen.await?;
        is_led = true;
    }
    let (shard, node) = (args.shard, args.node);
    asker.show(
        || json!({ "shard": shard, "node": node, "leads": is_led }),
        || {
            if is_led {
                format!("node {node} leads shard {shard}")
            } else {
                format!("the leader of shard {shard} was asked to hand over to node {node}")
            }
        },
    )
}

async fn seen(asker: &mut Asker, args: &TransferArgs) -> Result<Option<()>, End> {
    let answer = asker.ask(async |admin| admin.shards().await).await?;
    let mut shards = answer.shards.iter();
    let is_led = shards.any(|shard| shard.shard == args.shard && shard.leader == args.node);
    Ok(is_led.then_some(()))
}
