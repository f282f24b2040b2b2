//! How fast one server thread serves, and what a request costs it.
//!
//! `cargo run -p fakeweb --example load -- [BODY_BYTES] [LINKS] [SECONDS]`; plain pages of that size over 32
//! kept connections. The server's processor time is that of the whole process less the client's threads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use fakeweb::{FakeWeb, FakeWebOptions, Features};
use rustix::time::{ClockId, clock_gettime};

const CLIENTS: u32 = 4;
const CONNECTIONS: u32 = 8;
const HOSTS: u32 = 1_000_000;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|number| number.parse::<u32>().unwrap());
    let mut options = FakeWebOptions::new(HOSTS, 1);
    let body_bytes = numbers.next().unwrap_or(10_000);
    options.features = Features::none();
    options.keep_arrivals = false;
    options.shape.body_min_bytes = body_bytes;
    options.shape.body_max_bytes = body_bytes;
    options.shape.links_per_page = numbers.next().unwrap_or(62);
    let duration = Duration::from_secs(u64::from(numbers.next().unwrap_or(5)));
    let folder = std::env::temp_dir().join(format!("fakeweb-load-{}.jsonl", std::process::id()));
    options.log = Some(folder.clone());
    let links = options.shape.links_per_page;
    let web = FakeWeb::start(options).unwrap();
    let (process_before_s, started) = (seconds(ClockId::ProcessCPUTime), Instant::now());
    let addr = web.addr;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| std::thread::spawn(move || ask(addr, client, started + duration)))
        .collect();
    let (mut client_s, mut bytes) = (0.0, 0);
    for client in clients {
        let (cpu_s, read_bytes) = client.join().unwrap();
        client_s += cpu_s;
        bytes += read_bytes;
    }
    let (elapsed_s, requests) = (started.elapsed().as_secs_f64(), web.requests() as f64);
    let server_s = seconds(ClockId::ProcessCPUTime) - process_before_s - client_s;
    web.shutdown().unwrap();
    std::fs::remove_file(folder).unwrap();
    println!(
        "body {body_bytes} B, {links} links: {:.0} requests/s, {:.1} MB/s, server {:.1} us/request, client {:.1} us/request",
        requests / elapsed_s,
        bytes as f64 / elapsed_s / 1e6,
        server_s / requests * 1e6,
        client_s / requests * 1e6,
    );
}

/// Asks for roots over a few connections in turn; gives this thread's processor time and the bytes read.
fn ask(addr: SocketAddr, client: u32, until: Instant) -> (f64, u64) {
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| TcpStream::connect(addr).unwrap())
        .collect();
    streams
        .iter()
        .for_each(|stream| stream.set_nodelay(true).unwrap());
    let (mut host, mut total, mut buffer) = (client, 0, vec![0; 1 << 20]);
    while Instant::now() < until {
        for stream in &mut streams {
            host = (host + 7919) % HOSTS;
            let name = names(host);
            write!(stream, "GET / HTTP/1.1\r\nHost: {name}\r\n\r\n").unwrap();
        }
        for stream in &mut streams {
            total += read_answer(stream, &mut buffer);
        }
    }
    (seconds(ClockId::ThreadCPUTime), total)
}

/// A host's name, as the manifest's first entry of it has it; cheap enough to write down again.
fn names(index: u32) -> String {
    let site = index / 6 * 3 + [0, 0, 0, 1, 1, 2][(index % 6) as usize];
    let between = match (index % 6, (index / 6) % 2) {
        (2, _) => "east.",
        (4, 1) => "a.b.",
        _ => "",
    };
    format!("h{index:04}.{between}site{site:03}.example")
}

/// Reads one answer with a `Content-Length`; gives its size.
fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> u64 {
    let mut filled = 0;
    loop {
        let count = stream.read(&mut buffer[filled..]).unwrap();
        assert!(count > 0);
        filled += count;
        if let Some(head) = buffer[..filled]
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
            let length = text
                .split("content-length: ")
                .nth(1)
                .unwrap()
                .split("\r\n")
                .next()
                .unwrap();
            if head + 4 + length.parse::<usize>().unwrap() <= filled {
                return filled as u64;
            }
        }
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
