//! Drives one split as group 0's driver does: repeats one order until the shard's leader says that it is done, forgets answers
//! as a driver that dies does, and goes on to the next split of a shard when the child of the last is led.

use std::sync::Arc;
use std::time::Duration;

use frontier_node::{FrontierNode, SplitAim, SplitDone, SplitError, SplitRequest};
use futures::future::BoxFuture;

use super::net::WORLD;
use super::splits::{Aim, Wish};
use super::world::World;

/// Longest wait for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(6);
/// How often the middle of a load is asked for before any point is taken.
const TRIES_OF_MIDDLE: u64 = 20;

/// How often a shard is looked for that no replica of moves.
const TRIES_OF_SHARD: u64 = 100;

/// Drives one split to its end.
pub(super) async fn drive(world: Arc<World>, wish: Wish) {
    world.splits.count(true);
    if let Some(mut order) = begin(&world, wish.shard).await {
        order.at = place(&world, &order, wish.aim).await;
        let job = world.splits.enter(&mut order);
        if job.is_none() && world.plan.has_moves() {
            world.splits.end(&order);
            return world.splits.count(false);
        }
        world.trace.event(format!("order {order:?}"));
        let done = carry_out(&world, &order).await;
        judge(&world, &order, done);
        world.splits.split(&order);
        wait_until_led(&world, order.child).await;
        world.splits.led(job, &order);
        world.splits.end(&order);
        late_orders(&world, &order).await;
    }
    world.splits.count(false);
}

/// A shard that nobody changes now. Where replicas move there may be none for a while.
async fn begin(world: &World, number: u64) -> Option<SplitRequest> {
    for _ in 0..TRIES_OF_SHARD {
        let begun = world.splits.begin(number);
        if begun.is_some() || !world.plan.has_moves() {
            return begun;
        }
        world.sleep((100, 500)).await;
    }
    None
}

/// The first hash of the child.
async fn place(world: &World, order: &SplitRequest, aim: Aim) -> u64 {
    let range = world.splits.map().place(order.shard);
    let fits = |at: u64| range.first < at && at <= range.last;
    let anywhere = |number: u64| range.first + 1 + number % (range.last - range.first);
    match aim {
        Aim::Before(at) if fits(at) => at,
        Aim::Anywhere(number) | Aim::Before(number) => anywhere(number),
        Aim::Middle | Aim::Around(_) => {
            let (aim, number) = match aim {
                Aim::Around(site) => (SplitAim::Around(site), site),
                _ => (
                    SplitAim::Middle,
                    order.child.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                ),
            };
            let points = points(world, order.shard, aim).await;
            points
                .into_iter()
                .find(|at| fits(*at))
                .unwrap_or_else(|| anywhere(number))
        }
    }
}

async fn points(world: &World, shard: u64, aim: SplitAim) -> Vec<u64> {
    let mut node = world.first_node(shard);
    for _ in 0..TRIES_OF_MIDDLE {
        let found = call(world, node, move |there| {
            Box::pin(async move { there.split_points(shard, aim).await })
        });
        match found.await {
            Ok(found) => {
                world.trace.event(format!("places {found:?}"));
                return found.points;
            }
            Err(error) => node = next_node(world, node, error.as_ref()),
        }
        world.sleep((20, 600)).await;
    }
    Vec::new()
}

/// Repeats an order until it is done.
async fn carry_out(world: &World, order: &SplitRequest) -> SplitDone {
    let mut node = world.first_node(order.shard);
    loop {
        let answer = send(world, node, order).await;
        if world.mishap(200) {
            world.trace.event("a driver dies with the answer");
            world.sleep((50, 4_000)).await;
            continue;
        }
        match answer {
            Ok(done) => return done,
            Err(Some(SplitError::Refused(refusal))) => {
                let text = format!("{order:?} was refused: {refusal:?}");
                world.trace.violation(text);
                std::future::pending::<()>().await;
            }
            Err(error) => {
                world.trace.event(format!("no split at {node}: {error:?}"));
                node = next_node(world, node, error.as_ref());
            }
        }
        world.sleep((20, 600)).await;
    }
}

fn judge(world: &World, order: &SplitRequest, done: SplitDone) {
    let place = world.splits.map().place(order.shard);
    let expected = SplitDone {
        child: order.child,
        at: order.at,
        last: place.last,
        epoch: order.epoch + 1,
    };
    if done != expected {
        let text = format!("{order:?} was answered {done:?}");
        return world.trace.violation(text);
    }
    let SplitRequest {
        shard, child, at, ..
    } = order;
    let text = format!("split {shard} at {at:016x}: child {child}");
    world.trace.event(text);
}

/// As a standing is asked for: of all nodes, until one leads and has proven it.
async fn wait_until_led(world: &World, child: u64) {
    for node in (1..=world.plan.nodes).cycle() {
        let standing = call(world, node, move |there| {
            Box::pin(async move { Ok(there.shard_standing(child)) })
        });
        if let Ok(Some(standing)) = standing.await
            && standing.leader_term.is_some()
            && standing.is_proven
        {
            let text = format!("child {child} is led by {node}");
            return world.trace.event(text);
        }
        world.sleep((50, 500)).await;
    }
}

/// What a driver that was deposed may still send: the same order again, and one that comes too late for its epoch.
async fn late_orders(world: &World, order: &SplitRequest) {
    if world.draw(|rng| rng.chance(500)) {
        world.sleep((0, 6_000)).await;
        let repeated = answer_of(world, order).await;
        let again = |done: &SplitDone| {
            (done.child, done.at, done.epoch) == (order.child, order.at, order.epoch + 1)
        };
        if !repeated.as_ref().is_ok_and(again) {
            let text = format!("{order:?} was done, and repeated it is answered {repeated:?}");
            world.trace.violation(text);
        }
    }
    if world.draw(|rng| rng.chance(300)) {
        let late = SplitRequest {
            child: order.child + 1_000,
            at: order.at - 1,
            ..order.clone()
        };
        if let Ok(done) = answer_of(world, &late).await {
            let text = format!("{late:?} comes after another of its epoch and is done: {done:?}");
            world.trace.violation(text);
        }
    }
}

/// The shard's own answer.
async fn answer_of(world: &World, order: &SplitRequest) -> Result<SplitDone, SplitError> {
    let mut node = world.first_node(order.shard);
    loop {
        match send(world, node, order).await {
            Ok(done) => return Ok(done),
            // Who votes may have changed since: then it comes too late for that.
            Err(Some(error @ (SplitError::Refused(_) | SplitError::Members { .. }))) => {
                return Err(error);
            }
            Err(error) => node = next_node(world, node, error.as_ref()),
        }
        world.sleep((20, 600)).await;
    }
}

async fn send(
    world: &World,
    node: u64,
    order: &SplitRequest,
) -> Result<SplitDone, Option<SplitError>> {
    let order = order.clone();
    call(world, node, move |there| {
        let order = order.clone();
        Box::pin(async move { there.split_shard(order).await })
    })
    .await
}

/// A call of the nodes' internal service, which may come twice; `Err(None)`: no answer.
async fn call<A: Send + 'static>(
    world: &World,
    node: u64,
    serve: impl Fn(Arc<FrontierNode>) -> BoxFuture<'static, Result<A, SplitError>>
    + Send
    + Sync
    + 'static,
) -> Result<A, Option<SplitError>> {
    let answer = world.net.call((WORLD, node), true, ANSWER_WITHIN, serve);
    match answer.await {
        Ok(answer) => answer.map_err(Some),
        Err(_) => Err(None),
    }
}

fn next_node(world: &World, asked: u64, error: Option<&SplitError>) -> u64 {
    let hint = match error {
        Some(SplitError::NotLeader { leader, .. }) => *leader,
        _ => None,
    };
    hint.filter(|next| *next != asked)
        .unwrap_or_else(|| world.any_node())
}
