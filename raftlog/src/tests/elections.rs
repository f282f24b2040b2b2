//! Elections: transfers that fail, replicas with terms of their own, many groups at once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::cluster::{Node, close_all, cluster_of, election_timeouts, lead, temp_dirs};
use super::support::{count, leads, open_group, options, propose, until};
use crate::testing::{Fate, LocalNetwork, MessageKind};
use crate::{
    CallKind, Engine, EngineOptions, GroupConfig, GroupState, ProposeError, RaftTiming, RowBatch,
};

async fn all_have(nodes: &[Node], key: &str, times: u64) {
    until("all have applied", || {
        nodes
            .iter()
            .all(|node| count(&node.engine, 7, key) == times)
    })
    .await;
}

/// Asks for a transfer until it is accepted: what a follower has is known a moment later.
async fn transfer(from: &Node, to: u64) {
    let accepted = || async { from.group.transfer_leader(to).await.is_ok() };
    for _ in 0..500 {
        if accepted().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never accepted");
}

/// Proposes to whoever leads, until somebody takes it.
async fn propose_to_any(nodes: &[&Node]) -> crate::Reply {
    let payload = || bytes::Bytes::from_static(b"key");
    for _ in 0..5000 {
        let leading = nodes.iter().find_map(|node| {
            let token = node.group.leadership().borrow().token();
            token.map(|token| (node, token))
        });
        if let Some((node, token)) = leading {
            match node.group.propose(token, payload()).await {
                Err(ProposeError::NotLeader { .. }) => {}
                outcome => return outcome.unwrap(),
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody takes it");
}

/// case L4: leadership is handed to a replica that is dead by then. A read that is answered meanwhile is proven like
/// any other, and the group has a leader again.
/// Then to one that lives: the old leader proves nothing any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_during_a_transfer_are_proven() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, options).await;
    let (old, _) = lead(&nodes).await;
    propose(&nodes[old].group, "key").await;
    all_have(&nodes, "key", 1).await;
    let target = (old + 1) % 3;
    let target_id = target as u64 + 1;
    // Dead from the moment at which it is asked.
    let dead = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let dies = Arc::clone(&dead);
    network.interfere(move |message| {
        use std::sync::atomic::Ordering::SeqCst;
        if message.kind == MessageKind::Call(CallKind::TransferLeader) {
            dies.store(true, SeqCst);
        }
        let concerned = message.to == target_id || message.from == target_id;
        match concerned && dies.load(SeqCst) {
            true => Fate::Lose,
            false => Fate::Pass,
        }
    });
    transfer(&nodes[old], target_id).await;
    until("the target was asked", || {
        dead.load(std::sync::atomic::Ordering::SeqCst)
    })
    .await;
    let rest: Vec<_> = (0..3)
        .filter(|place| *place != target)
        .map(|place| &nodes[place])
        .collect();
    let reply = propose_to_any(&rest).await;
    for node in &nodes {
        if let Ok(confirmed) = node.group.confirm_leadership().await {
            assert!(confirmed.applied_index >= reply.index);
            assert!(confirmed.term >= reply.term);
        }
    }
    network.leave_alone();
    all_have(&nodes, "key", 2).await;
    let (old, _) = lead(&nodes).await;
    let target = (old + 1) % 3;
    transfer(&nodes[old], target as u64 + 1).await;
    let token = leads(&nodes[target].group).await;
    let confirmed = nodes[target].group.confirm_leadership().await.unwrap();
    assert_eq!(confirmed.term, token.term());
    let unproven = nodes[old].group.confirm_leadership().await;
    assert!(unproven.is_err(), "{unproven:?}");
    close_all(nodes).await;
}

/// case L19: a replica that was cut off has not raised its term, and back again it unseats nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replica_that_was_cut_off_unseats_nobody() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    all_have(&nodes, "key", 1).await;
    let cut = &nodes[(leader + 1) % 3];
    network.isolate(cut.engine.options().node_id);
    election_timeouts(cut, 5).await;
    assert_eq!(cut.group.status().term, token.term());
    network.heal();
    election_timeouts(cut, 3).await;
    let status = nodes[leader].group.status();
    assert_eq!((status.is_leader, status.term), (true, token.term()));
    close_all(nodes).await;
}

/// case L19: one replica has a term far above and an old log, the other a low term and the whole log. Neither can win
/// as they are: the one with the log adopts the higher term from the refusal, and wins.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_low_term_is_no_deadlock() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let mut nodes = cluster_of(&network, &dirs, options).await;
    let (leader, token) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    all_have(&nodes, "key", 1).await;
    let (ahead, whole) = ((leader + 1) % 3, (leader + 2) % 3);
    let ahead_id = ahead as u64 + 1;
    network.isolate(ahead_id);
    let term_of = |place: usize| nodes[place].group.status().term;
    while term_of(ahead) < token.term() + 5 {
        let before = term_of(ahead);
        nodes[ahead].group.trigger_election().await.unwrap();
        until("its term rises", || term_of(ahead) > before).await;
    }
    propose(&nodes[leader].group, "key").await;
    until("the other has it", || {
        count(&nodes[whole].engine, 7, "key") == 2
    })
    .await;
    assert_eq!(term_of(whole), token.term());
    let whole_id = whole as u64 + 1;
    let gone = nodes.remove(leader);
    gone.engine.close().await;
    drop(gone);
    network.heal();
    let (next, next_token) = lead(&nodes).await;
    assert_eq!(nodes[next].engine.options().node_id, whole_id);
    assert!(next_token.term() > token.term() + 5);
    propose(&nodes[next].group, "key").await;
    all_have(&nodes, "key", 3).await;
    close_all(nodes).await;
}

/// A replica that misses an entry stands, and is refused by one that has it: it knows then that it cannot win, until it has
/// caught up.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_candidate_that_misses_an_entry_knows_that_it_cannot_win() {
    let (dirs, network) = (temp_dirs(3), LocalNetwork::default());
    let nodes = cluster_of(&network, &dirs, options).await;
    let (leader, _) = lead(&nodes).await;
    propose(&nodes[leader].group, "key").await;
    all_have(&nodes, "key", 1).await;
    let short = (leader + 1) % 3;
    let short_id = short as u64 + 1;
    assert!(!nodes[short].group.knows_longer_log());
    network.interfere(move |message| {
        let is_vote = message.kind == MessageKind::Call(CallKind::Vote);
        match message.to == short_id && !is_vote {
            true => Fate::Lose,
            false => Fate::Pass,
        }
    });
    propose(&nodes[leader].group, "key").await;
    nodes[short].group.trigger_election().await.unwrap();
    until("it is refused", || nodes[short].group.knows_longer_log()).await;
    network.leave_alone();
    all_have(&nodes, "key", 2).await;
    until("it has caught up", || {
        !nodes[short].group.knows_longer_log()
    })
    .await;
    close_all(nodes).await;
}

/// When calls of each kind were made, by group, in milliseconds.
type CallTimes = HashMap<(CallKind, u64), Vec<u64>>;

/// case L20: many groups, all opened at once, neither ask for votes in step nor beat in step. The times are long, so
/// that a busy machine's delays are small beside them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_groups_do_not_tick_in_step() {
    const GROUPS: u64 = 60;
    const BEAT_MS: u64 = 1000;
    let slow = |dir: &std::path::Path, node_id| EngineOptions {
        timing: RaftTiming {
            heartbeat_ms: BEAT_MS,
            election_min_ms: 2 * BEAT_MS + 1,
            election_max_ms: 4 * BEAT_MS,
        },
        ..options(dir, node_id)
    };
    let (dirs, network) = (temp_dirs(2), LocalNetwork::default());
    let mut engines = Vec::new();
    for (place, dir) in dirs.iter().enumerate() {
        let options = slow(dir.path(), place as u64 + 1);
        let engine = Engine::open(options.clone(), network.transport(options.node_id)).unwrap();
        network.attach(&engine);
        engines.push(engine);
    }
    let start = Instant::now();
    let times: Arc<Mutex<CallTimes>> = Arc::default();
    let heard = Arc::clone(&times);
    network.interfere(move |message| {
        let at_ms = start.elapsed().as_millis() as u64;
        if let MessageKind::Call(kind) = message.kind {
            let mut heard = heard.lock();
            heard
                .entry((kind, message.group_id))
                .or_default()
                .push(at_ms);
        }
        Fate::Pass
    });
    let mut groups = Vec::new();
    for engine in &engines {
        for group_id in 1..=GROUPS {
            let members = BTreeSet::from([1, 2]);
            let config = GroupConfig {
                group_id,
                members,
                initial_rows: RowBatch::new(),
            };
            engine.create_group(config).await.unwrap();
        }
        let opening = (1..=GROUPS)
            .map(|group_id| async move { open_group(engine, group_id, &Arc::default()).await });
        groups.push(futures::future::join_all(opening).await);
    }
    let of = |kind| -> Vec<Vec<u64>> {
        let times = times.lock();
        (1..=GROUPS)
            .map(|group_id| times.get(&(kind, group_id)).cloned().unwrap_or_default())
            .collect()
    };
    until("all groups have a leader that beats", || {
        of(CallKind::Heartbeat).iter().all(|beats| beats.len() >= 5)
    })
    .await;
    let asked = of(CallKind::PreVote).into_iter().map(|times| times[0]);
    let asked = fullest(asked);
    assert!(
        asked <= GROUPS / 2,
        "{asked} groups asked for votes at once"
    );
    let beats = of(CallKind::Heartbeat).into_iter();
    let beats = fullest(beats.map(|beats| beats[4] % BEAT_MS));
    assert!(beats <= GROUPS / 2, "{beats} groups beat at once");
    let running = |group: &crate::Group| group.status().state == GroupState::Running;
    assert!(groups.iter().flatten().all(running));
    for engine in engines {
        engine.close().await;
    }
}

/// Most times that lie in the same tenth of a second.
fn fullest(times: impl Iterator<Item = u64>) -> u64 {
    let mut bins: HashMap<u64, u64> = HashMap::new();
    times.for_each(|at_ms| *bins.entry(at_ms / 100).or_default() += 1);
    bins.into_values().max().unwrap_or_default()
}
