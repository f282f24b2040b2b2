//! The URLs a run starts from.

use crate::output::CommandError;
use std::collections::BTreeSet;
use std::path::Path;
use urlkey::{CanonicalUrl, Canonicalizer};

/// Largest seed file read.
const FILE_SIZE_BYTES: u64 = 1 << 30;

/// Seeds, canonical, and those that were refused with the reason.
#[derive(Debug, Default)]
pub struct Seeds {
    /// Canonical ones.
    pub urls: BTreeSet<CanonicalUrl>,
    /// As given, with why not.
    pub refused: Vec<(String, String)>,
}

/// Gathers the seeds of the command line and the file.
pub fn gather(given: &[String], file: Option<&Path>) -> Result<Seeds, CommandError> {
    let mut seeds = Seeds::default();
    let canonicalizer = Canonicalizer::default();
    let mut take = |text: &str| match canonicalizer.canonicalize(text) {
        Ok(url) => {
            seeds.urls.insert(url);
        }
        Err(error) => seeds.refused.push((text.to_owned(), error.to_string())),
    };
    given.iter().for_each(|text| take(text));
    if let Some(path) = file {
        let shown = path.display();
        let size = std::fs::metadata(path)
            .map_err(|e| CommandError::io(format!("cannot read {shown}"), e))?
            .len();
        if size > FILE_SIZE_BYTES {
            return Err(CommandError::Message(format!(
                "{shown} is larger than {FILE_SIZE_BYTES} bytes"
            )));
        }
        let bytes =
            std::fs::read(path).map_err(|e| CommandError::io(format!("cannot read {shown}"), e))?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .for_each(&mut take);
    }
    Ok(seeds)
}
