//! Field cases of kind I that are about names.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;

use super::*;
use crate::testing::{DnsServer, ScriptedNames, Zone};

async fn dns_at(server: &DnsServer) -> Dns {
    Dns::new(Arc::new(
        HickorySource::with_servers(&[server.addr]).unwrap(),
    ))
}

fn v4(text: &str) -> Vec<IpAddr> {
    vec![text.parse().unwrap()]
}

/// case I7: no such name, servers that fail, and success each stay what they are.
#[tokio::test]
async fn not_found_and_failed_are_kept_apart() {
    let good = Zone::Address(Ipv4Addr::new(192, 0, 2, 7));
    let zones = [
        ("good.example", good),
        ("broken.example", Zone::Broken),
        ("empty.example", Zone::Empty),
    ];
    let server = DnsServer::start(zones).await;
    let dns = dns_at(&server).await;
    assert_eq!(
        dns.resolve("good.example").await.unwrap().to_vec(),
        v4("192.0.2.7")
    );
    assert_eq!(
        dns.resolve("missing.example").await,
        Err(DnsError::NotFound)
    );
    assert_eq!(dns.resolve("empty.example").await, Err(DnsError::NotFound));
    assert_eq!(dns.resolve("broken.example").await, Err(DnsError::Failed));
}

/// case I8: a dead name is looked up once for all its URLs.
#[tokio::test]
async fn a_dead_name_is_remembered() {
    let server = DnsServer::start([]).await;
    let dns = dns_at(&server).await;
    assert_eq!(dns.resolve("dead.example").await, Err(DnsError::NotFound));
    let asked = server.queries.load(Ordering::SeqCst);
    for _ in 0..20 {
        assert_eq!(dns.resolve("dead.example").await, Err(DnsError::NotFound));
    }
    assert_eq!(server.queries.load(Ordering::SeqCst), asked);
}

/// case I11: a chain of aliases is followed to its end; a loop has none.
#[tokio::test]
async fn alias_chains_end() {
    let zones = [
        ("a.example", Zone::Alias("b.example")),
        ("b.example", Zone::Alias("c.example")),
        ("c.example", Zone::Alias("d.example")),
        ("d.example", Zone::Alias("e.example")),
        ("e.example", Zone::Address(Ipv4Addr::new(192, 0, 2, 9))),
        ("loop.example", Zone::Alias("pool.example")),
        ("pool.example", Zone::Alias("loop.example")),
    ];
    let server = DnsServer::start(zones).await;
    let dns = dns_at(&server).await;
    assert_eq!(
        dns.resolve("a.example").await.unwrap().to_vec(),
        v4("192.0.2.9")
    );
    assert!(dns.resolve("loop.example").await.is_err());
}

/// case I7: no answer is neither "no such name" nor for ever.
#[tokio::test]
async fn silence_is_a_timeout() {
    let server = DnsServer::start([("mute.example", Zone::Silent)]).await;
    let mut dns = dns_at(&server).await;
    dns.timeout = Duration::from_millis(300);
    assert_eq!(dns.resolve("mute.example").await, Err(DnsError::Timeout));
}

#[tokio::test]
async fn one_lookup_a_name_at_a_time() {
    let names = ScriptedNames::new([Ok(["192.0.2.1"].as_slice())]);
    let dns = Dns::new(Arc::clone(&names) as Arc<dyn NameSource>);
    let all = futures::future::join_all((0..50).map(|_| dns.resolve("a.example"))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(names.lookups.load(Ordering::SeqCst), 1);
    assert!(dns.flights.lock().is_empty());
}

#[tokio::test]
async fn an_abandoned_lookup_does_not_block_the_name() {
    let names = ScriptedNames::new([Ok(["192.0.2.1"].as_slice())]);
    let dns = Dns::new(Arc::clone(&names) as Arc<dyn NameSource>);
    let abandoned = dns.flight("a.example");
    assert_eq!(futures::poll!(abandoned.clone()), std::task::Poll::Pending);
    drop(abandoned);
    assert!(dns.resolve("a.example").await.is_ok());
    assert_eq!(names.lookups.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn without_servers_every_lookup_fails() {
    assert_eq!(
        Dns::new(Arc::new(NoServers)).resolve("a.example").await,
        Err(DnsError::Failed)
    );
}
