//! Certificates and protocols of TLS connections.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

/// A TLS client: ring, the system's roots plus `extra_roots`, HTTP/2 offered but HTTP/1.1 spoken where the peer does not choose
/// (case G19). Without any root every https fetch fails with a certificate error; http works.
pub(super) fn config(
    extra_roots: &[CertificateDer<'static>],
    http1_only: bool,
) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(extra_roots.iter().cloned());
    if roots.is_empty() {
        tracing::warn!("no root certificates found: https hosts will be refused");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if http1_only {
        vec![b"http/1.1".to_vec()]
    } else {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    };
    Ok(config)
}
