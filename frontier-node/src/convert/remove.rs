//! Removals.

use machine::command::remove as m;
use proto::frontier_v1 as pb;

use super::{Rejected, Verifier};
use crate::limits::CURSOR_SIZE_BYTES;

/// Checks one slice of a removal.
pub(crate) fn remove_from_wire(
    verifier: &Verifier,
    request: pb::RemoveRequest,
) -> Result<m::Remove, Rejected> {
    if request.crawl == 0 {
        return Err(Rejected("crawl is 0"));
    }
    if request.cursor.len() > CURSOR_SIZE_BYTES {
        return Err(Rejected("cursor is too long"));
    }
    let partition = request.partition;
    let target = match request.target {
        Some(pb::remove_request::Target::Url(url)) => {
            let url = verifier.url(&url, partition)?;
            let fingerprint = verifier.fingerprint(request.crawl, &url);
            m::Target::Url(m::UrlTarget {
                partition,
                fingerprint,
                url: url.into(),
            })
        }
        Some(pb::remove_request::Target::Host(host)) => {
            verifier.host(&host, partition)?;
            m::Target::Host(m::HostTarget { partition, host })
        }
        Some(pb::remove_request::Target::WholeCrawl(true)) => m::Target::Crawl(m::CrawlTarget {}),
        Some(pb::remove_request::Target::WholeCrawl(false)) | None => {
            return Err(Rejected("no target"));
        }
    };
    Ok(m::Remove {
        crawl: request.crawl,
        target: Some(target),
        forget: request.forget,
        cursor: request.cursor.into(),
    })
}
