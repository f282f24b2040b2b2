//! What an error of reqwest means: its chain of causes, read from the most telling one.

use std::error::Error;
use std::io;

use super::connect::ConnectRefusal;
use super::error::FetchError;

/// An error before the head of a response was there.
pub(super) fn of_request(error: &reqwest::Error, connected: bool) -> FetchError {
    if let Some(refusal) = find::<ConnectRefusal>(error) {
        return match refusal {
            ConnectRefusal::Fenced => FetchError::Fenced,
            ConnectRefusal::Unvetted => FetchError::ConnectFailed,
        };
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        return match tls {
            rustls::Error::InvalidCertificate(_) => FetchError::TlsCertificate,
            _ if connected => FetchError::Protocol,
            _ => FetchError::TlsHandshake,
        };
    }
    if error.is_timeout() {
        return if connected {
            FetchError::FirstByteTimeout
        } else {
            FetchError::ConnectTimeout
        };
    }
    if let Some(hyper) = find::<hyper::Error>(error) {
        if hyper.is_parse_too_large() {
            return FetchError::HeadersTooLarge;
        }
        if hyper.is_parse() {
            return FetchError::Protocol;
        }
        if hyper.is_incomplete_message() {
            return FetchError::NoResponse;
        }
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => FetchError::ConnectRefused,
        Some(io::ErrorKind::TimedOut) if !connected => FetchError::ConnectTimeout,
        Some(io::ErrorKind::TimedOut) => FetchError::FirstByteTimeout,
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            FetchError::ConnectUnreachable
        }
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe,
        ) if connected => FetchError::Reset,
        Some(io::ErrorKind::UnexpectedEof) if connected => FetchError::NoResponse,
        // In a handshake: the peer hung up, or speaks something else.
        Some(_) if !connected && error.url().is_some_and(|url| url.scheme() == "https") => {
            FetchError::TlsHandshake
        }
        _ if connected => FetchError::Protocol,
        _ => FetchError::ConnectFailed,
    }
}

/// An error while a body was read.
pub(super) fn of_body(error: &reqwest::Error) -> FetchError {
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => {
            return FetchError::Reset;
        }
        Some(io::ErrorKind::TimedOut) => return FetchError::IdleTimeout,
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            return FetchError::Protocol;
        }
        _ => {}
    }
    match find::<hyper::Error>(error) {
        Some(hyper) if hyper.is_parse() => FetchError::Protocol,
        // What is left is an end before the declared one: of a length, of chunks, of a stream.
        _ => FetchError::IncompleteBody,
    }
}

/// The first cause of this type, also inside I/O errors, which hide theirs from the chain.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}
