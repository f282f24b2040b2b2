//! Puts whose digest comes before their bytes.

use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::announcement::{Announced, Announcement, Wanted};
use crate::deflated::Deflated;
use crate::prepare::PreparedHead;

impl PageStore {
    /// Begins a put by its digest. A known payload is recorded at once and durably; an unknown one is [`Announced::Wanted`],
    /// with room in memory for it taken. While another put of the same digest is under way this waits for it, up to `patience`, and
    /// then asks for the bytes all the same: they are stored once whoever is first.
    pub async fn announce(
        &self,
        announcement: Announcement,
        patience: Duration,
    ) -> Result<Announced, PutError> {
        let size_bytes = announcement.payload_size_bytes;
        self.check(&announcement.capture, size_bytes)?;
        let patient_until = tokio::time::Instant::now() + patience;
        let digest = announcement.digest;
        // What is known needs no room for its bytes, and stays known.
        let is_known = self
            .in_pool(move |preparer| preparer.is_known(&digest))
            .await??;
        let needed_bytes = if is_known { 0 } else { size_bytes };
        // Room first, then the claim: who holds a claim never waits for room that those hold who wait for the claim.
        let pass = self
            .0
            .gate
            .enter(needed_bytes + headers_size_bytes(&announcement.capture.headers))
            .await?;
        let announcement = Arc::new(announcement);
        let claim = loop {
            let head = Arc::clone(&announcement);
            match self.in_pool(move |preparer| preparer.head(&head)).await?? {
                PreparedHead::Ready(ready) => {
                    return self.submit(*ready, pass).await.map(Announced::Known);
                }
                PreparedHead::Claimed(claim) => break Some(claim),
                PreparedHead::Wait(end) => {
                    if tokio::time::timeout_at(patient_until, end.wait())
                        .await
                        .is_err()
                    {
                        break None;
                    }
                }
            }
        };
        Ok(Announced::Wanted(Box::new(Wanted {
            announcement: Arc::unwrap_or_clone(announcement),
            pass,
            claim,
        })))
    }

    /// Ends such a put with its bytes, which are checked against what was announced; returns when they are durable.
    pub async fn put_wanted(&self, wanted: Wanted, payload: Bytes) -> Result<Put, PutError> {
        self.end(wanted, Sent::Plain(payload)).await
    }

    /// The same with bytes that their sender deflated; they are kept as they came.
    pub async fn put_wanted_deflated(
        &self,
        wanted: Wanted,
        deflated: Deflated,
    ) -> Result<Put, PutError> {
        self.end(wanted, Sent::Deflated(deflated)).await
    }

    async fn end(&self, wanted: Wanted, sent: Sent) -> Result<Put, PutError> {
        let Wanted {
            announcement,
            pass,
            claim,
        } = wanted;
        let digest = announcement.digest;
        let first = move |preparer: &Preparer| {
            let checked = Arc::new(check(announcement, sent)?);
            let prepared = match claim {
                Some(claim) => preparer
                    .first(&checked.capture, checked.deflated.as_ref(), digest, claim)
                    .map(Prepared::Ready),
                None => checked.prepare(preparer, digest),
            };
            prepared.map(|prepared| (prepared, checked))
        };
        let (mut prepared, checked) = self.in_pool(first).await??;
        loop {
            match prepared {
                Prepared::Ready(ready) => return self.submit(*ready, pass).await,
                Prepared::Wait(end) => end.wait().await,
            }
            let checked = Arc::clone(&checked);
            let again = move |preparer: &Preparer| checked.prepare(preparer, digest);
            prepared = self.in_pool(again).await??;
        }
    }
}

/// The bytes of a payload, as they were sent.
enum Sent {
    Plain(Bytes),
    Deflated(Deflated),
}

/// A capture whose payload is what was announced.
struct Checked {
    capture: Capture,
    deflated: Option<Deflated>,
}

impl Checked {
    fn prepare(&self, preparer: &Preparer, digest: Digest) -> Result<Prepared, PutError> {
        preparer.capture(&self.capture, self.deflated.as_ref(), digest)
    }
}

fn check(announcement: Announcement, sent: Sent) -> Result<Checked, PutError> {
    let (payload, deflated) = match sent {
        Sent::Plain(payload) => (payload, None),
        Sent::Deflated(deflated) => {
            let payload = deflated.inflate(announcement.payload_size_bytes)?;
            (payload, Some(deflated))
        }
    };
    check_payload(
        &payload,
        announcement.digest,
        announcement.payload_size_bytes,
    )?;
    Ok(Checked {
        capture: Capture {
            payload,
            ..announcement.capture
        },
        deflated,
    })
}

fn check_payload(payload: &[u8], announced: Digest, announced_bytes: u64) -> Result<(), PutError> {
    let (found, found_bytes) = (Digest::of(payload), payload.len() as u64);
    if found == announced && found_bytes == announced_bytes {
        return Ok(());
    }
    Err(PutError::NotAsAnnounced {
        announced,
        announced_bytes,
        found,
        found_bytes,
    })
}
