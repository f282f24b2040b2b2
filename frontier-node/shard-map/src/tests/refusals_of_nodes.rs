//! Every refusal of joins, leaves and drains: the reason, and that nothing changed.

use crate::{
    Body, NodeState, Refusal, ShardMap, Step,
    command::{Drain, Join, Leave, Pin, Replace, Undrain, WishLeader},
    testing::*,
};

fn joined(change: impl FnOnce(&mut Join)) -> Body {
    let Body::Join(mut join) = joining(4, 0) else {
        panic!("not a join");
    };
    change(&mut join);
    Body::Join(join)
}

fn four() -> ShardMap {
    let mut map = cluster(3, 2);
    run(&mut map, joining(4, 0));
    map
}

#[test]
fn an_unknown_node() {
    let map = four();
    let unknown = Refusal::UnknownNode(9);
    for body in [
        Body::Leave(Leave { node: 9 }),
        Body::Drain(Drain { node: 9 }),
        Body::Undrain(Undrain { node: 9 }),
        Body::Replace(Replace { node: 9 }),
        Body::WishLeader(WishLeader { shard: 1, node: 9 }),
        Body::Pin(Pin {
            shard: 1,
            nodes: vec![9],
        }),
    ] {
        assert_eq!(refused(&map, body), unknown);
    }
}

#[test]
fn another_identity_or_cluster() {
    let map = cluster(3, 2);
    let differs = |change: fn(&mut Join)| match refused(&map, joined(change)) {
        Refusal::IdentityMismatch { what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(
        differs(|j| j.identity.suffix_list_digest = 1),
        "suffix list digest"
    );
    let what = differs(|j| j.identity.canonicalizer_version = 1);
    assert_eq!(what, "canonicaliser version");
    assert_eq!(
        differs(|j| j.identity.fingerprint_key_id = 1),
        "fingerprint key id"
    );
    let other = Refusal::OtherCluster {
        ours: CLUSTER,
        given: 9,
    };
    assert_eq!(refused(&map, joined(|j| j.cluster_id = 9)), other);
}

#[test]
fn an_incarnation_that_was_given_up() {
    let mut map = four();
    run(&mut map, joining(4, 2));
    let older = Refusal::IncarnationReused {
        node: 4,
        given: 1,
        current: 2,
        state: NodeState::Up,
    };
    assert_eq!(refused(&map, joining(4, 1)), older);
    run(&mut map, Body::Leave(Leave { node: 4 }));
    let gone = Refusal::IncarnationReused {
        node: 4,
        given: 2,
        current: 2,
        state: NodeState::Gone,
    };
    assert_eq!(refused(&map, joining(4, 2)), gone);
}

/// Two empty directories ask for one number at the same moment.
#[test]
fn a_number_that_another_directory_has() {
    let mut map = four();
    let of = |incarnation: u32, disk: u64, address: &str| {
        joined(|j| {
            (j.node.number, j.node.incarnation, j.node.disk) = (9, incarnation, disk);
            j.node.address = address.to_owned();
        })
    };
    run(&mut map, of(0, 11, "a:1"));
    assert!(!run(&mut map, of(0, 11, "a:1")).changed, "its own, again");
    run(&mut map, of(0, 11, "b:1"));
    assert_eq!(map.node(9).unwrap().address, "b:1", "it is elsewhere now");
    for disk in [0, 12] {
        let second = refused(&map, of(0, disk, "c:1"));
        assert_eq!(second, Refusal::NumberTaken(9));
    }
    run(&mut map, of(1, 12, "c:1"));
    assert_eq!(map.node(9).unwrap().disk, 12);
    // Nor has a founder's place a second directory.
    let second = joined(|j| (j.node.number, j.node.disk) = (1, 12));
    assert_eq!(refused(&map, second), Refusal::NumberTaken(1));
}

#[test]
fn an_address_or_number_that_makes_no_sense_or_is_taken() {
    let map = cluster(3, 2);
    let taken = joined(|j| j.node.address = "n2:7701".to_owned());
    assert_eq!(refused(&map, taken), Refusal::AddressTaken(2));
    let changes: [fn(&mut Join); 4] = [
        |j| j.node.number = 0,
        |j| j.node.number = 65_536,
        |j| j.node.address = String::new(),
        |j| j.node.http_address = "x".repeat(1_000),
    ];
    for change in changes {
        let refusal = refused(&map, joined(change));
        assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    }
    let role = joined(|j| (j.node.number, j.node.holds_shards) = (1, false));
    let Body::Join(mut role) = role else {
        panic!("not a join");
    };
    role.node.address = "n1:7701".to_owned();
    let refusal = refused(&map, Body::Join(role));
    assert_eq!(
        refusal,
        Refusal::NodeNotEmpty {
            node: 1,
            replicas: 3
        }
    );
}

#[test]
fn the_last_node_or_one_too_many() {
    let one = cluster(1, 2);
    for body in [
        Body::Drain(Drain { node: 1 }),
        Body::Replace(Replace { node: 1 }),
        Body::Leave(Leave { node: 1 }),
    ] {
        assert_eq!(refused(&one, body), Refusal::LastNode(1));
    }
    let three = cluster(3, 2);
    let needed = Refusal::NotEnoughNodes { needed: 3, left: 2 };
    assert_eq!(refused(&three, Body::Drain(Drain { node: 1 })), needed);
    let mut map = four();
    begin(&mut map, Body::Drain(Drain { node: 1 }));
    assert_eq!(refused(&map, Body::Drain(Drain { node: 4 })), needed);
}

#[test]
fn a_node_that_is_not_empty() {
    let mut map = four();
    let refusal = refused(&map, Body::Leave(Leave { node: 1 }));
    assert_eq!(
        refusal,
        Refusal::NodeNotEmpty {
            node: 1,
            replicas: 3
        }
    );
    // The map has its replica no more, but the node has: it still has to destroy it.
    for shard in 0..=2 {
        let body = moving(&map, shard, 1, 4);
        let job = begin(&mut map, body);
        while map.job(job).unwrap().step() != Step::VotersChanged {
            step(&mut map, job);
        }
    }
    let refusal = refused(&map, Body::Leave(Leave { node: 1 }));
    assert_eq!(refusal, Refusal::NodeBusy { node: 1, job: 1 });
}

#[test]
fn a_node_that_is_being_emptied_already_or_is_gone() {
    let mut map = four();
    let job = begin(&mut map, Body::Drain(Drain { node: 1 }));
    let busy = Refusal::NodeBusy { node: 1, job };
    assert_eq!(refused(&map, Body::Drain(Drain { node: 1 })), busy);
    assert_eq!(refused(&map, Body::Replace(Replace { node: 1 })), busy);
    run(&mut map, Body::Undrain(Undrain { node: 1 }));
    run(&mut map, Body::Leave(Leave { node: 4 }));
    let gone = Refusal::NodeNotUsable {
        node: 4,
        why: "gone",
    };
    assert_eq!(refused(&map, Body::Drain(Drain { node: 4 })), gone);
    assert_eq!(refused(&map, Body::Undrain(Undrain { node: 4 })), gone);
}

#[test]
fn a_wish_or_pin_that_cannot_be_followed() {
    let map = four();
    let wish = Body::WishLeader(WishLeader { shard: 1, node: 4 });
    assert_eq!(
        refused(&map, wish),
        Refusal::HasNoVoter { shard: 1, node: 4 }
    );
    for nodes in [vec![1, 1], vec![1, 2, 3, 4]] {
        let refusal = refused(&map, Body::Pin(Pin { shard: 1, nodes }));
        assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    }
    let unknown = Body::Pin(Pin {
        shard: 9,
        nodes: vec![],
    });
    assert_eq!(refused(&map, unknown), Refusal::UnknownShard(9));
}

#[test]
fn a_node_that_holds_no_shards() {
    let mut map = cluster(3, 1);
    run(&mut map, joined(|j| j.node.holds_shards = false));
    let refusal = refused(&map, moving(&map, 1, 1, 4));
    let why = "it holds no shards";
    assert_eq!(refusal, Refusal::NodeNotUsable { node: 4, why });
    let needed = Refusal::NotEnoughNodes { needed: 3, left: 2 };
    assert_eq!(
        refused(&map, Body::Drain(Drain { node: 1 })),
        needed,
        "pages are no help"
    );
}
