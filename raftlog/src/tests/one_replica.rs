//! One replica: proposals, fencing, pipelining, reads, failures of the machine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::counter_machine::{Seen, factory};
use super::support::{count, leads, open, options, propose, sole_group, until};
use crate::limits::{MAX_OUTSTANDING_PROPOSALS, MAX_PAYLOAD_BYTES};
use crate::{
    Confirmed, DiskStep, EngineOptions, GroupConfig, GroupError, GroupState, KeyRange,
    LeadershipToken, OpenError, ProposeError, RowBatch, StopReason,
};

#[tokio::test(flavor = "multi_thread")]
async fn proposals_are_applied_and_answered_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let seen: Arc<Seen> = Arc::default();
    let group = sole_group(&engine, 3, &seen).await;
    let token = leads(&group).await;
    let mut pending = Vec::new();
    for _ in 0..500 {
        pending.push(
            group
                .submit(token, Bytes::from_static(b"key"))
                .await
                .unwrap(),
        );
    }
    let mut last_index = 0;
    for (place, reply) in pending.into_iter().enumerate() {
        let reply = reply.await.unwrap();
        assert_eq!(reply.bytes.as_ref(), (place as u64 + 1).to_be_bytes());
        assert_eq!(reply.term, token.term());
        assert!(reply.index > last_index);
        last_index = reply.index;
    }
    assert_eq!(count(&engine, 3, "key"), 500);
    let confirmed = Confirmed {
        term: token.term(),
        applied_index: last_index,
    };
    assert_eq!(group.confirm_leadership().await, Ok(confirmed));
    let status = group.status();
    assert_eq!(
        (status.applied_index, status.last_log_index),
        (last_index, last_index)
    );
    assert_eq!(status.voters, BTreeSet::from([1]));
    assert_eq!(seen.applied.load(Ordering::SeqCst), 500);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_of_another_leadership_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    let old = leads(&group).await;
    group.shutdown().await;
    let group = super::support::open_group(&engine, 3, &Arc::default()).await;
    let new = leads(&group).await;
    assert!(new > old);
    let refused = group.propose(old, Bytes::from_static(b"key")).await;
    assert!(
        matches!(refused, Err(ProposeError::NotLeader { .. })),
        "{refused:?}"
    );
    let future = LeadershipToken {
        term: new.term() + 1,
    };
    let refused = group.propose(future, Bytes::from_static(b"key")).await;
    assert!(
        matches!(refused, Err(ProposeError::NotLeader { .. })),
        "{refused:?}"
    );
    assert_eq!(count(&engine, 3, "key"), 0);
    group
        .propose(new, Bytes::from_static(b"key"))
        .await
        .unwrap();
    assert_eq!(count(&engine, 3, "key"), 1);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_machine_stops_its_group_only() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    for (group_id, payload, reason) in [(3, "fail", "told to fail"), (4, "panic", "told to panic")]
    {
        let group = sole_group(&engine, group_id, &Arc::default()).await;
        let token = leads(&group).await;
        let lost = group
            .propose(token, Bytes::copy_from_slice(payload.as_bytes()))
            .await;
        assert!(
            matches!(lost, Err(ProposeError::OutcomeUnknown(_))),
            "{lost:?}"
        );
        until("the group stops", || {
            matches!(group.status().state, GroupState::Stopped(_))
        })
        .await;
        let state = format!("{:?}", group.status().state);
        assert!(state.contains(reason), "{state}");
        let refused = group.propose(token, Bytes::from_static(b"key")).await;
        assert!(
            matches!(refused, Err(ProposeError::Stopped(StopReason::Machine(_)))),
            "{refused:?}"
        );
    }
    let other = sole_group(&engine, 5, &Arc::default()).await;
    propose(&other, "key").await;
    assert_eq!(count(&engine, 5, "key"), 1);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_refuse_before_anything_is_submitted() {
    let dir = tempfile::tempdir().unwrap();
    // The log's fsync is held back, so that proposals pile up.
    let gate = Arc::new(parking_lot::Mutex::new(()));
    let at_gate = Arc::clone(&gate);
    let hook = super::support::Hook(move |step| {
        if step == DiskStep::LogSync {
            drop(at_gate.lock());
        }
        Ok(())
    });
    let engine = open(EngineOptions {
        faults: Some(Arc::new(hook)),
        ..options(dir.path(), 1)
    });
    let group = sole_group(&engine, 3, &Arc::default()).await;
    let token = leads(&group).await;
    let too_large = Bytes::from(vec![0; MAX_PAYLOAD_BYTES + 1]);
    assert!(matches!(
        group.propose(token, too_large).await,
        Err(ProposeError::TooLarge { .. })
    ));
    let (held, mut pending) = {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let gate = Arc::clone(&gate);
        let (locked, is_locked) = tokio::sync::oneshot::channel();
        let holder = std::thread::spawn(move || {
            let _closed = gate.lock();
            locked.send(()).unwrap();
            let _released = wait.recv();
        });
        is_locked.await.unwrap();
        ((release, holder), Vec::new())
    };
    for _ in 0..MAX_OUTSTANDING_PROPOSALS {
        pending.push(
            group
                .submit(token, Bytes::from_static(b"key"))
                .await
                .unwrap(),
        );
    }
    let refused = group.submit(token, Bytes::from_static(b"key")).await.err();
    assert_eq!(refused, Some(ProposeError::Overloaded));
    // case L16: nothing is answered before the fsync.
    assert_eq!(count(&engine, 3, "key"), 0);
    drop(held.0);
    held.1.join().unwrap();
    for reply in pending {
        reply.await.unwrap();
    }
    assert_eq!(count(&engine, 3, "key"), MAX_OUTSTANDING_PROPOSALS as u64);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn creating_and_opening_twice() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let mut initial_rows = RowBatch::new();
    initial_rows.put([9, 1], [1]);
    let config = GroupConfig {
        group_id: 9,
        members: BTreeSet::from([1]),
        initial_rows,
    };
    let unknown = engine
        .open_group(9, factory(engine.state(), 9, Arc::default()))
        .await;
    assert!(matches!(unknown.err(), Some(GroupError::Unknown(9))));
    engine.create_group(config.clone()).await.unwrap();
    engine.create_group(config.clone()).await.unwrap();
    assert_eq!(
        engine.state().scan(&KeyRange::prefix(&[9]), 10).unwrap(),
        vec![(vec![9, 1], vec![1])]
    );
    let other = GroupConfig {
        members: BTreeSet::from([1, 2]),
        ..config.clone()
    };
    assert!(matches!(
        engine.create_group(other).await,
        Err(GroupError::Conflict(9))
    ));
    let foreign = GroupConfig {
        group_id: 10,
        members: BTreeSet::from([2]),
        ..config
    };
    assert!(matches!(
        engine.create_group(foreign).await,
        Err(GroupError::Invalid { .. })
    ));
    let group = engine
        .open_group(9, factory(engine.state(), 9, Arc::default()))
        .await
        .unwrap();
    let again = engine
        .open_group(9, factory(engine.state(), 9, Arc::default()))
        .await;
    assert!(matches!(again.err(), Some(GroupError::AlreadyOpen(9))));
    propose(&group, "key").await;
    group.shutdown().await;
    assert_eq!(
        group.status().state,
        GroupState::Stopped(StopReason::Shutdown)
    );
    let group = engine
        .open_group(9, factory(engine.state(), 9, Arc::default()))
        .await
        .unwrap();
    propose(&group, "key").await;
    assert_eq!(count(&engine, 9, "key"), 2);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_has_one_user_and_one_node() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let second = crate::Engine::open(options(dir.path(), 1), Arc::new(crate::NoTransport));
    assert!(matches!(second.err(), Some(OpenError::Locked { .. })));
    engine.close().await;
    let other = crate::Engine::open(options(dir.path(), 2), Arc::new(crate::NoTransport));
    assert!(matches!(
        other.err(),
        Some(OpenError::WrongNode {
            found: 1,
            expected: 2,
            ..
        })
    ));
    let engine = open(options(dir.path(), 1));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_entry_is_known_with_its_time_of_receipt() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(options(dir.path(), 1));
    let group = sole_group(&engine, 3, &Arc::default()).await;
    leads(&group).await;
    assert!(
        group.last_received().is_none(),
        "a new leader's own entry is not a user's"
    );
    let before = std::time::Instant::now();
    let reply = propose(&group, "key:stamp").await;
    let last = group.last_received().unwrap();
    assert_eq!(
        (last.index, last.payload.as_ref()),
        (reply.index, b"key:stamp".as_slice())
    );
    assert!(last.received.unwrap() >= before);
    engine.close().await;
    let engine = open(options(dir.path(), 1));
    let group = super::support::open_group(&engine, 3, &Arc::default()).await;
    let last = group.last_received().unwrap();
    assert_eq!(
        (last.index, last.payload.as_ref()),
        (reply.index, b"key:stamp".as_slice())
    );
    assert!(last.received.is_none(), "this process did not receive it");
    engine.close().await;
}
