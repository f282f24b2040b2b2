//! Connections that ask for nothing: they end, and they do not keep others out.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::stand_in::StandIn;
use super::support::{Book, Serving, listener, soon, transport, until};
use crate::limits::HEAD_WAIT;
use crate::{Acceptor, Speech};

/// Whether a connection that was told `words` is taken, and then ended by the other side. The clock stands still and is
/// moved by hand: only what waits for it happens.
async fn breaks(speech: Speech, words: &[u8]) -> bool {
    let (socket, address) = listener().await;
    let mut acceptor = Acceptor::new(socket, speech, 1);
    let mut client = TcpStream::connect(address).await.unwrap();
    let (mut taken, _) = acceptor.accept().await;
    client.write_all(words).await.unwrap();
    let mut read = vec![0; words.len()];
    taken.read_exact(&mut read).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(HEAD_WAIT * 2).await;
    let mut more = [0];
    let ended = futures::FutureExt::now_or_never(taken.read(&mut more));
    tokio::time::resume();
    ended.is_some_and(|ended| ended.is_err())
}

#[tokio::test]
async fn a_connection_whose_first_head_never_ends_is_ended() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert!(breaks(Speech::Http2, b"P").await);
    assert!(breaks(Speech::Http2, preface).await);
    let ping = [0, 0, 0, 6, 0, 0, 0, 0, 0];
    assert!(breaks(Speech::Http2, &[preface.as_slice(), &ping].concat()).await);
    let head = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x82];
    assert!(
        !breaks(Speech::Http2, &[preface.as_slice(), &head].concat()).await,
        "it was used"
    );
    assert!(breaks(Speech::Http1, b"GET / HTTP/1.1\r\nX: ").await);
}

/// While all places are taken new connections wait, and come in when one is free again.
#[tokio::test]
async fn the_number_of_connections_is_bounded() {
    let (socket, address) = listener().await;
    let mut acceptor = Acceptor::new(socket, Speech::Http1, 2);
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(TcpStream::connect(address).await.unwrap());
    }
    let first = acceptor.accept().await;
    let _second = acceptor.accept().await;
    let third = tokio::time::timeout(std::time::Duration::from_millis(100), acceptor.accept());
    assert!(third.await.is_err(), "there is no place");
    drop(first);
    soon("the third comes in", acceptor.accept()).await;
}

#[tokio::test]
async fn idle_connections_do_not_keep_a_peer_out() {
    let (socket, address) = listener().await;
    let _serving = Serving::stand_in(socket, 2, &Arc::<StandIn>::default());
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let sender = transport(1, Book::of(&[(2, address)]));
    until("a link opens", || sender.has_link(2)).await;
    assert_eq!(idle.len(), 100);
}
