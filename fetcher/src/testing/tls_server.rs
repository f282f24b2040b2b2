//! A TLS server in a thread: records the name each client asks for, then writes scripted bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What the server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alpn {
    /// No ALPN: HTTP/1.1.
    Silent,
    /// HTTP/2: the scripted bytes are frames.
    H2,
}

/// A running server.
pub(crate) struct TlsServer {
    pub(crate) addr: SocketAddr,
    /// Its certificate, to be trusted.
    pub(crate) root: CertificateDer<'static>,
    names: Arc<Mutex<Vec<Option<String>>>>,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl TlsServer {
    /// With a certificate for this name; answers every connection with `bytes`.
    pub(crate) fn start(name: &str, alpn: Alpn, bytes: Vec<u8>) -> Self {
        let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let root = issued.cert.der().clone();
        let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![root.clone()], key)
                .unwrap();
        if alpn == Alpn::H2 {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (names, requests) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(Mutex::new(Vec::new())),
        );
        let (config, all_names, all_requests) =
            (Arc::new(config), Arc::clone(&names), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                serve(
                    StreamOwned::new(connection, stream),
                    alpn,
                    &bytes,
                    &all_names,
                    &all_requests,
                );
            }
        });
        Self {
            addr,
            root,
            names,
            requests,
        }
    }

    /// The name in each handshake, once there are so many: the thread may still be at it when the client has given up.
    pub(crate) async fn names(&self, count: usize) -> Vec<Option<String>> {
        while self.names.lock().len() < count {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.names.lock().clone()
    }

    /// What came first on each connection whose handshake succeeded.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().clone()
    }
}

fn serve(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    alpn: Alpn,
    bytes: &[u8],
    names: &Mutex<Vec<Option<String>>>,
    requests: &Mutex<Vec<Vec<u8>>>,
) {
    let mut first = vec![0; 4_096];
    let mut length = stream.read(&mut first).unwrap_or(0);
    names
        .lock()
        .push(stream.conn.server_name().map(str::to_owned));
    if length == 0 {
        return;
    }
    // HTTP/2: preface and settings may come before the request; read until its headers frame (type 1) is there.
    while alpn == Alpn::H2 && !has_headers_frame(&first[..length]) {
        match stream.read(&mut first[length..]) {
            Ok(more) if more > 0 => length += more,
            _ => return,
        }
    }
    requests.lock().push(first[..length].to_vec());
    let _ = stream.write_all(bytes);
    stream.conn.send_close_notify();
    let _ = stream.flush();
    let _ = stream.read(&mut first);
}

fn has_headers_frame(bytes: &[u8]) -> bool {
    let mut at = 24;
    while let Some([a, b, c, kind]) = bytes.get(at..at + 4) {
        if *kind == 1 {
            return true;
        }
        at += 9 + usize::from(*a) * 65_536 + usize::from(*b) * 256 + usize::from(*c);
    }
    false
}
