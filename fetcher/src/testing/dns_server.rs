//! A name server on loopback that answers by script, in raw bytes.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::UdpSocket;

/// What is said of a name. Names not listed do not exist.
#[derive(Clone)]
pub(crate) enum Zone {
    Address(Ipv4Addr),
    /// Another name.
    Alias(&'static str),
    /// SERVFAIL.
    Broken,
    /// No answer at all.
    Silent,
    /// The name exists, without an address.
    Empty,
}

/// A running server.
pub(crate) struct DnsServer {
    pub(crate) addr: SocketAddr,
    pub(crate) queries: Arc<AtomicUsize>,
}

impl DnsServer {
    pub(crate) async fn start(zones: impl IntoIterator<Item = (&'static str, Zone)>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let addr = socket.local_addr().unwrap();
        let zones: BTreeMap<&str, Zone> = zones.into_iter().collect();
        let queries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&queries);
        tokio::spawn(async move {
            let mut packet = [0; 1_500];
            while let Ok((length, peer)) = socket.recv_from(&mut packet).await {
                count.fetch_add(1, Ordering::SeqCst);
                if let Some(answer) = answer(&packet[..length], &zones) {
                    let _ = socket.send_to(&answer, peer).await;
                }
            }
        });
        Self { addr, queries }
    }
}

/// The name of a query, its type, and the bytes of the question.
fn question(query: &[u8]) -> (String, u16, &[u8]) {
    let (mut at, mut labels) = (12, Vec::new());
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8_lossy(&query[at + 1..at + 1 + length]).to_lowercase());
        at += 1 + length;
    }
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    (labels.join("."), kind, &query[12..at + 5])
}

fn name(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in text.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn record(owner: &str, kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap();
    [
        name(owner),
        kind.to_be_bytes().to_vec(),
        vec![0, 1, 0, 0, 0, 60],
        length.to_be_bytes().to_vec(),
        data.to_vec(),
    ]
    .concat()
}

fn answer(query: &[u8], zones: &BTreeMap<&str, Zone>) -> Option<Vec<u8>> {
    let (asked, kind, question) = question(query);
    let (mut code, mut records, mut at) = (0_u8, Vec::new(), asked);
    // As a recursive server does, the whole chain; a loop is cut, as one would cut it.
    for _ in 0..40 {
        match zones.get(at.as_str()) {
            Some(Zone::Address(address)) => {
                if kind == 1 {
                    records.push(record(&at, 1, &address.octets()));
                }
                break;
            }
            Some(Zone::Alias(to)) => {
                records.push(record(&at, 5, &name(to)));
                at = (*to).to_owned();
            }
            Some(Zone::Broken) => {
                code = 2;
                break;
            }
            Some(Zone::Silent) => return None,
            Some(Zone::Empty) => break,
            None => {
                code = 3;
                break;
            }
        }
    }
    let count = u16::try_from(records.len()).unwrap().to_be_bytes();
    let head = [
        query[0],
        query[1],
        0x81,
        0x80 | code,
        0,
        1,
        count[0],
        count[1],
        0,
        0,
        0,
        0,
    ];
    Some([&head[..], question, &records.concat()].concat())
}
