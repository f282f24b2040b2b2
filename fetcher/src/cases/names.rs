//! Names and private addresses, through whole cycles.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pb::page_outcome::Code;
use proto::frontier_v1 as pb;

use crate::config::FetcherConfig;
use crate::dns::{Dns, DnsError, NameSource};
use crate::testing::{Rig, ScriptedNames, Server, html};

/// One answer of a script.
type Scripted = Result<&'static [&'static str], DnsError>;

/// A rig without overrides whose names are scripted. `open` opens loopback.
fn rig(names: &Arc<ScriptedNames>, open: bool) -> Rig {
    let config = if open {
        Rig::config()
    } else {
        FetcherConfig::default()
    };
    Rig::new(
        config,
        Dns::new(Arc::clone(names) as Arc<dyn NameSource>),
        &[],
    )
}

/// case I1, case I14: a name that leads to a private address is refused, whatever it is called.
#[tokio::test]
async fn names_of_private_addresses() {
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.100.100.200",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
    ] {
        let names = ScriptedNames::new([Ok([address].as_slice())]);
        let ran = rig(&names, false)
            .page("http://7f000001.nip.example/")
            .await;
        assert_eq!(ran.code(), (Code::Refused, "private_address"), "{address}");
        assert!(ran.wire().nothing_written);
    }
}

/// case I1: literals are checked as well, in all their spellings.
#[tokio::test]
async fn private_literals() {
    let server = Server::always(html("x")).await;
    let names = ScriptedNames::new([]);
    let closed = rig(&names, false);
    let port = server.addr.port();
    for host in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "10.0.0.1",
        "192.168.1.1",
        "[fe80::1]",
    ] {
        let ran = closed.page(&format!("http://{host}:{port}/")).await;
        assert_eq!(ran.code(), (Code::Refused, "private_address"), "{host}");
        assert!(ran.wire().nothing_written);
    }
    // Other spellings never get here: they are canonicalised, or refused.
    for host in ["0x7f.1", "2130706433", "127.1"] {
        assert_eq!(
            closed.page(&format!("http://{host}:{port}/")).await.code(),
            (Code::Refused, "invalid_url"),
            "{host}"
        );
    }
    assert!(server.heads().is_empty());
    // An exception opens exactly its range.
    let open = rig(&names, true);
    assert_eq!(
        open.page(&format!("http://127.0.0.1:{port}/")).await.code(),
        (Code::Stored, "")
    );
    assert_eq!(
        open.page(&format!("http://10.0.0.1:{port}/")).await.code(),
        (Code::Refused, "private_address")
    );
    assert_eq!(
        server.heads()[0]
            .lines()
            .find(|line| line.starts_with("host:")),
        Some(format!("host: 127.0.0.1:{port}").as_str())
    );
}

/// case I2: what was vetted is what is connected to, and each fetch is vetted anew.
#[tokio::test]
async fn rebinding_changes_nothing() {
    let server = Server::always(html("x")).await;
    let names = ScriptedNames::new([Ok(["127.0.0.1"].as_slice()), Ok(["10.0.0.1"].as_slice())]);
    let rig = rig(&names, true);
    let url = format!("http://rebind.example:{}/", server.addr.port());
    assert_eq!(rig.page(&url).await.code(), (Code::Stored, ""));
    // One look-up for one connection: there is no second answer to be had in between.
    assert_eq!(names.lookups.load(Ordering::SeqCst), 1);
    let other = format!("http://other.example:{}/", server.addr.port());
    assert_eq!(
        rig.page(&other).await.code(),
        (Code::Refused, "private_address")
    );
    assert_eq!(server.heads().len(), 1);
}

/// case I5: a name with public and private addresses is refused as a whole.
#[tokio::test]
async fn mixed_answers() {
    let names = ScriptedNames::new([Ok(["1.1.1.1", "127.0.0.1"].as_slice())]);
    let ran = rig(&names, false).page("http://mixed.example/").await;
    assert_eq!(ran.code(), (Code::Refused, "mixed_addresses"));
    assert!(ran.wire().nothing_written);
}

/// case I7, case I8, case I10: each failure has its own code; the host is not touched by any.
#[tokio::test]
async fn failures_of_names() {
    let cases: [(Scripted, Code, &str); 5] = [
        (Err(DnsError::NotFound), Code::DnsNotFound, "dns_not_found"),
        (Ok(&[]), Code::DnsNotFound, "dns_not_found"),
        (Err(DnsError::Failed), Code::NetworkError, "dns_failure"),
        (Err(DnsError::Timeout), Code::NetworkError, "dns_timeout"),
        (Ok(&["0.0.0.0", "::"]), Code::NetworkError, "null_address"),
    ];
    for (answer, code, reason) in cases {
        let names = ScriptedNames::new([answer]);
        let rig = rig(&names, false);
        for path in 0..5 {
            let ran = rig.page(&format!("http://n.example/{path}")).await;
            assert_eq!(ran.code(), (code, reason));
            assert!(ran.wire().nothing_written);
        }
        assert_eq!(names.lookups.load(Ordering::SeqCst), 1, "{reason}");
    }
}

/// case I13: an override moves the connection and nothing else, whatever port the URL has.
#[tokio::test]
async fn overrides_keep_the_host() {
    let server = Server::always(html("x")).await;
    let rig = Rig::at(server.addr);
    for (url, host) in [
        ("http://a.example/", "a.example"),
        ("http://a.example:8080/", "a.example:8080"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("http://192.0.2.7:81/", "192.0.2.7:81"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]:81"),
    ] {
        assert_eq!(rig.page(url).await.code(), (Code::Stored, ""), "{url}");
        let heads = server.heads();
        let hosts: Vec<&str> = heads
            .last()
            .unwrap()
            .lines()
            .filter(|line| line.starts_with("host:"))
            .collect();
        assert_eq!(hosts, [format!("host: {host}")]);
        assert_eq!(server.targets().last().unwrap(), "/");
    }
    assert_eq!(
        rig.page("https://192.0.2.7/").await.code(),
        (Code::Refused, "override_unsupported")
    );
}

/// An override to a private address needs an exception for it, like any other way there.
#[tokio::test]
async fn overrides_are_vetted() {
    let server = Server::always(html("x")).await;
    let rig = Rig::with(server.addr, |config| config.http.allow_net.clear());
    assert_eq!(
        rig.page("http://a.example/").await.code(),
        (Code::Refused, "private_address")
    );
    let robots = rig.robots("http://a.example/robots.txt").await;
    assert_eq!(robots.found().code(), pb::robots_found::Code::Unreachable);
    assert!(server.heads().is_empty());
}
