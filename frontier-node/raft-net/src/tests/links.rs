//! Links: life, death, clocks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::broadcast::error::TryRecvError;

use super::proxy::Proxy;
use super::stand_in::StandIn;
use super::support::{Book, Serving, listen_again, listener, soon, transport, until};
use crate::NetTransport;

/// Waits for pings that are answered from now on.
async fn linked(sender: &NetTransport) {
    let before = sender.metrics().pings.received;
    until("pings are answered", || {
        sender.metrics().pings.received > before + 1
    })
    .await;
}

#[tokio::test]
async fn a_death_is_told_once_and_the_link_comes_back() {
    let (mut socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let sender = transport(1, Book::of(&[(1, address), (2, address)]));
    let mut deaths = sender.refused();
    for death in 1..=2 {
        let serving = Serving::stand_in(socket, 2, &inbox);
        linked(&sender).await;
        assert!(sender.has_link(2) && sender.open_links() == 1);
        serving.die();
        assert_eq!(soon("the death is told", deaths.recv()).await, Ok(2));
        assert!(!sender.has_link(2) && sender.open_links() == 0);
        let failed = sender.metrics().dials_failed;
        until("it goes on dialling", || {
            sender.metrics().dials_failed > failed + 2
        })
        .await;
        assert_eq!(deaths.try_recv(), Err(TryRecvError::Empty), "told once");
        assert_eq!(sender.metrics().refused, death);
        socket = listen_again(address).await;
    }
}

#[tokio::test]
async fn who_never_had_a_link_is_not_told_dead() {
    let (socket, address) = listener().await;
    drop(socket);
    let sender = transport(1, Book::of(&[(2, address)]));
    let mut deaths = sender.refused();
    until("it is dialled", || sender.metrics().dials_failed >= 3).await;
    assert_eq!(deaths.try_recv(), Err(TryRecvError::Empty));
}

/// Silence is no death: neither of a peer with a link, nor of one that takes the new connection.
#[tokio::test]
async fn silence_breaks_the_link_and_is_no_death() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::default());
    let proxy = Proxy::to(address).await;
    let sender = transport(1, Book::of(&[(2, proxy.address)]));
    let mut deaths = sender.refused();
    linked(&sender).await;
    proxy.silence(true);
    until("the link is given up", || sender.metrics().redials == 1).await;
    let accepted = proxy.accepted.load(Ordering::SeqCst);
    until("it is dialled again", || {
        proxy.accepted.load(Ordering::SeqCst) > accepted
    })
    .await;
    assert_eq!(deaths.try_recv(), Err(TryRecvError::Empty));
    proxy.silence(false);
    linked(&sender).await;
    assert_eq!(deaths.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(sender.metrics().refused, 0);
}

/// The disk was wiped: the node is back at once, under its next replica id. The old replica is dead all the same.
#[tokio::test]
async fn another_replica_at_the_address_means_that_the_old_one_is_dead() {
    let (socket, address) = listener().await;
    let inbox: Arc<StandIn> = Arc::default();
    let book = Book::of(&[(2, address)]);
    let sender = transport(1, Arc::clone(&book));
    let mut deaths = sender.refused();
    let serving = Serving::stand_in(socket, 2, &inbox);
    linked(&sender).await;
    serving.die();
    let reborn = (1 << 32) + 2;
    let _serving = Serving::stand_in(listen_again(address).await, reborn, &inbox);
    assert_eq!(soon("the death is told", deaths.recv()).await, Ok(2));
    // The book learns of the new one, which gets a link within a second or so.
    book.put(reborn, address);
    until("the new one has a link", || {
        let samples = sender.wall_samples();
        samples.iter().any(|sample| sample.replica == reborn)
    })
    .await;
    assert_eq!(sender.metrics().refused, 1);
}

#[tokio::test]
async fn clocks_of_two_nodes_are_known_to_each_other() {
    let (socket_1, address_1) = listener().await;
    let (socket_2, address_2) = listener().await;
    let book = Book::of(&[(1, address_1), (2, address_2)]);
    let _serving_1 = Serving::stand_in(socket_1, 1, &Arc::default());
    let _serving_2 = Serving::stand_in(socket_2, 2, &Arc::default());
    let senders = [
        transport(1, Arc::clone(&book)),
        transport(2, Arc::clone(&book)),
    ];
    for (sender, other) in [(&senders[0], 2), (&senders[1], 1)] {
        until("there is a sample", || !sender.wall_samples().is_empty()).await;
        let samples = sender.wall_samples();
        assert_eq!(samples.len(), 1, "none of itself");
        assert_eq!(samples[0].replica, other);
        // The clocks of the tests stand still, at a million milliseconds for each id: what is more is the sample's age
        // and half a round trip.
        let since_ms = samples[0].wall_unix_ms - other * 1_000_000;
        assert!(since_ms >= samples[0].age_ms);
        assert!(since_ms < samples[0].age_ms + 60_000, "{since_ms} ms");
    }
    linked(&senders[0]).await;
    let first = senders[0].metrics().pings;
    until("samples are renewed", || {
        senders[0].metrics().pings.received > first.received + 3
    })
    .await;
}

#[tokio::test]
async fn an_address_that_changes_is_followed() {
    let (socket_1, address_1) = listener().await;
    let (socket_2, address_2) = listener().await;
    let book = Book::of(&[(2, address_1)]);
    let sender = transport(1, Arc::clone(&book));
    let serving = Serving::stand_in(socket_1, 2, &Arc::default());
    linked(&sender).await;
    let _moved = Serving::stand_in(socket_2, 2, &Arc::default());
    book.put(2, address_2);
    serving.stop().await;
    linked(&sender).await;
}

#[tokio::test]
async fn closing_ends_all_tasks_and_the_other_sides_stream() {
    let (socket, address) = listener().await;
    let serving = Serving::stand_in(socket, 2, &Arc::default());
    let book = Book::of(&[(2, address)]);
    let sender = transport(1, Arc::clone(&book));
    linked(&sender).await;
    sender.close();
    soon("all tasks have ended", sender.closed()).await;
    assert!(sender.wall_samples().is_empty());
    drop(sender);
    until("nothing holds the book", || Arc::strong_count(&book) == 1).await;
    // Ends only when no link is open any more: this one's streams are not told to stop.
    serving.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_in_good_order_ends_its_links() {
    let (socket, address) = listener().await;
    let serving = Serving::stand_in(socket, 2, &Arc::default());
    let sender = transport(1, Book::of(&[(2, address)]));
    let mut deaths = sender.refused();
    linked(&sender).await;
    serving.stop().await;
    assert_eq!(soon("nobody listens", deaths.recv()).await, Ok(2));
}
