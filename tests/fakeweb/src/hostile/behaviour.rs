//! What each kind writes.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Counts;
use super::bomb::{BLOCKS, bomb};
use super::kind::Kind;
use crate::limits;

const OK_HTML: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const TWELVE: &str = "hello world\n";

/// A connection and the request now being answered.
struct Client<'a> {
    stream: TcpStream,
    path: String,
    counts: &'a Counts,
}

impl Client<'_> {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let bytes = bytes.as_ref();
        self.stream.write_all(bytes).await?;
        self.counts
            .written_bytes
            .fetch_add(bytes.len() as u64, Ordering::AcqRel);
        Ok(())
    }

    /// An ordinary page.
    async fn page(&mut self) -> io::Result<()> {
        self.send(format!("{OK_HTML}Content-Length: 12\r\n\r\n{TWELVE}"))
            .await
    }

    /// A head whose body is `TWELVE` under the given header lines; the connection then ends.
    async fn last(&mut self, lines: &str) -> io::Result<()> {
        self.send(format!("{OK_HTML}{lines}\r\n\r\n{TWELVE}"))
            .await?;
        Err(closed())
    }

    async fn redirect(&mut self, location: &str) -> io::Result<()> {
        self.send(format!(
            "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n{location}\r\n"
        ))
        .await
    }

    /// Reads a request's head, up to [`limits::HOSTILE_HEAD_BYTES`], and keeps its path.
    async fn read_head(&mut self) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if self.stream.read_buf(&mut head).await? == 0
                || head.len() > limits::HOSTILE_HEAD_BYTES
            {
                return Err(closed());
            }
        }
        let text = String::from_utf8_lossy(&head);
        self.path = text.split(' ').nth(1).unwrap_or("/").to_owned();
        self.counts.requests.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the connection ends here")
}

/// Serves one connection until something ends it.
pub(super) async fn serve(stream: TcpStream, kind: Kind, counts: &Counts) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut client = Client {
        stream,
        path: String::new(),
        counts,
    };
    loop {
        client.read_head().await?;
        let robots = client.path == "/robots.txt";
        match kind {
            Kind::NeverAnswers => std::future::pending().await,
            Kind::EndlessRobots if robots => endless_robots(&mut client).await?,
            _ if robots => client.send(NOT_FOUND).await?,
            _ => behave(&mut client, kind).await?,
        }
    }
}

async fn behave(client: &mut Client<'_>, kind: Kind) -> io::Result<()> {
    match kind {
        Kind::EndlessBody => endless_body(client).await,
        Kind::Drip => drip(client).await,
        Kind::HeaderFlood | Kind::HugeHeader | Kind::CookieFlood => client.last(&flood(kind)).await,
        Kind::LengthNul => client.last("Content-Length: 12\0").await,
        Kind::LengthList => client.last("Content-Length: 12, 12").await,
        Kind::LengthTwice => client.last("Content-Length: 12\r\nContent-Length: 5").await,
        Kind::LengthNegative => client.last("Content-Length: -1").await,
        Kind::LengthExponent => client.last("Content-Length: 1e3").await,
        Kind::LengthHuge => client.last("Content-Length: 99999999999999999999999").await,
        Kind::ShortBody => client.last("Content-Length: 24").await,
        Kind::LongBody => client.last("Content-Length: 6").await,
        Kind::GzipGarbage => {
            client
                .last("Content-Encoding: gzip\r\nContent-Length: 12")
                .await
        }
        Kind::ChunkedNoEnd | Kind::ChunkedBadSize => bad_chunks(client, kind).await,
        Kind::GzipBomb => gzip_bomb(client).await,
        Kind::ResetMidBody => reset(client).await,
        Kind::NotModified => {
            client
                .send("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")
                .await
        }
        Kind::NotHttp => {
            client
                .send("\x16\x03\x01 220 mail.example ESMTP\r\n")
                .await?;
            Err(closed())
        }
        Kind::InterimFlood => {
            client
                .send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(100))
                .await?;
            client.page().await
        }
        Kind::SlowFirstByte => {
            tokio::time::sleep(Duration::from_secs(2)).await;
            client.page().await
        }
        Kind::EndlessRobots | Kind::NeverAnswers => client.page().await,
        _ => redirects(client, kind).await,
    }
}

async fn redirects(client: &mut Client<'_>, kind: Kind) -> io::Result<()> {
    let path = client.path.clone();
    match (kind, path.as_str()) {
        (Kind::RedirectLoop, "/a") => client.redirect("Location: /b\r\n").await,
        (Kind::RedirectLoop, "/b") => client.redirect("Location: /\r\n").await,
        (Kind::RedirectLoop, _) => client.redirect("Location: /a\r\n").await,
        (Kind::RedirectEndless, path) => {
            let number: u64 = path[1..].parse().unwrap_or(0);
            client
                .redirect(&format!("Location: /{}\r\n", number.wrapping_add(1)))
                .await
        }
        (Kind::LocationUtf8, "/") => client.redirect("Location: /été/夏?q=ü\r\n").await,
        (Kind::LocationSpaces, "/") => {
            client
                .redirect("Location: /two words/and more?q=a b \r\n")
                .await
        }
        (Kind::LocationMissing, _) => client.redirect("").await,
        _ => client.page().await,
    }
}

fn flood(kind: Kind) -> String {
    let lines = match kind {
        Kind::HugeHeader => format!("X-Flood: {}\r\n", "x".repeat(300_000)),
        Kind::CookieFlood => (0..2000)
            .map(|n| format!("Set-Cookie: c{n}={}; Path=/\r\n", "v".repeat(80)))
            .collect(),
        _ => (0..3000)
            .map(|n| format!("X-Flood-{n}: {}\r\n", "x".repeat(86)))
            .collect(),
    };
    format!("{lines}Content-Length: 12")
}

async fn endless_body(client: &mut Client<'_>) -> io::Result<()> {
    client
        .send(format!("{OK_HTML}Transfer-Encoding: chunked\r\n\r\n"))
        .await?;
    let text = "<p><a href=\"/more\">more</a> and more</p>\n".repeat(400);
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    loop {
        client.send(&chunk).await?;
    }
}

async fn endless_robots(client: &mut Client<'_>) -> io::Result<()> {
    client
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
        .await?;
    client.send("User-agent: *\nDisallow: /private/\n").await?;
    let lines = "# and so on, and so on, and so on, and so on\n".repeat(400);
    loop {
        client.send(&lines).await?;
    }
}

async fn drip(client: &mut Client<'_>) -> io::Result<()> {
    client
        .send(format!("{OK_HTML}Content-Length: 100000\r\n\r\n"))
        .await?;
    loop {
        client.send("x").await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn bad_chunks(client: &mut Client<'_>, kind: Kind) -> io::Result<()> {
    let then = if kind == Kind::ChunkedBadSize {
        "zz\r\nhello\r\n0\r\n\r\n"
    } else {
        ""
    };
    client
        .send(format!(
            "{OK_HTML}Transfer-Encoding: chunked\r\n\r\nc\r\n{TWELVE}\r\n{then}"
        ))
        .await?;
    Err(closed())
}

async fn gzip_bomb(client: &mut Client<'_>) -> io::Result<()> {
    let parts = bomb(BLOCKS)?;
    let length = parts.header.len() + parts.block.len() * BLOCKS as usize + parts.end.len();
    client
        .send(format!(
            "{OK_HTML}Content-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await?;
    client.send(&parts.header).await?;
    for _ in 0..BLOCKS {
        client.send(&parts.block).await?;
    }
    client.send(&parts.end).await
}

async fn reset(client: &mut Client<'_>) -> io::Result<()> {
    client
        .send(format!("{OK_HTML}Content-Length: 24\r\n\r\n{TWELVE}"))
        .await?;
    // Time for the client to read the half, for a reset discards what it has not read.
    tokio::time::sleep(Duration::from_millis(200)).await;
    client.stream.set_zero_linger()?;
    Err(closed())
}
