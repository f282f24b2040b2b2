//! Groups of [`PartMachine`](super::part_machine::PartMachine): 7, and 8 that it founds.

use std::sync::Arc;

use super::part_machine::{factory, first_rows};
use super::support::propose;
use crate::{ChildGroup, Engine, Group, GroupConfig, KeyRange, StateView};

/// Group 7 of these members on one node.
pub(super) async fn parent(engine: &Arc<Engine>, members: &[u64]) -> Group {
    engine
        .create_group(GroupConfig {
            group_id: 7,
            members: members.iter().copied().collect(),
            initial_rows: first_rows(),
        })
        .await
        .unwrap();
    open_part(engine, 7).await
}

pub(super) async fn open_part(engine: &Arc<Engine>, group_id: u64) -> Group {
    let machine = factory(engine.state(), group_id);
    engine.open_group(group_id, machine).await.unwrap()
}

pub(super) async fn made(engine: &Engine) -> ChildGroup {
    let is_named = |view: &StateView<'_>| {
        let row = view.get(&[b'm', 7]).unwrap();
        row.is_some_and(|part| part[1] < u8::MAX)
    };
    engine
        .create_child(8, engine.options().node_id, is_named)
        .await
        .unwrap()
}

pub(super) async fn child(engine: &Arc<Engine>) -> Group {
    assert_eq!(made(engine).await, ChildGroup::Created);
    assert_eq!(made(engine).await, ChildGroup::Existed);
    open_part(engine, 8).await
}

pub(super) async fn said(group: &Group, payload: &str) -> String {
    let reply = propose(group, payload).await;
    String::from_utf8(reply.bytes.to_vec()).unwrap()
}

/// The keys of all rows of both parts.
pub(super) fn keys(engine: &Engine) -> Vec<String> {
    let rows = engine.state().scan(&KeyRange::prefix(b"r"), 1_000);
    let key = |(key, _): (Vec<u8>, _)| String::from_utf8(key[1..].to_vec()).unwrap();
    rows.unwrap_or_default().into_iter().map(key).collect()
}
