//! How many files and sockets the process may have open at once.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::limits::{GRPC_CONNECTIONS, HTTP_CONNECTIONS};

/// Raises the soft limit to the hard one: RocksDB keeps many tables open, and each caller has a socket.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let soft = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(soft, %error, "the limit of open files stays");
    }
}

/// Connections of the gRPC server: half of the files at most, since databases, logs and links need the others.
pub(crate) fn grpc_connections() -> usize {
    share(open_files(), 2, GRPC_CONNECTIONS)
}

/// Connections of the HTTP server.
pub(crate) fn http_connections() -> usize {
    share(open_files(), 16, HTTP_CONNECTIONS)
}

/// The limit in force; the largest number: none.
fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn share(files: u64, parts: u64, most: usize) -> usize {
    usize::try_from(files / parts)
        .unwrap_or(most)
        .clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_mean_few_connections() {
        assert_eq!(share(96, 2, 4_096), 48);
        assert_eq!(share(96, 16, 256), 6);
        assert_eq!(share(3, 16, 256), 1);
        assert_eq!(share(u64::MAX, 2, 4_096), 4_096);
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
