//! The URLs a run starts from.

use crate::output::{CommandError, quoted};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use urlkey::{CanonicalUrl, Canonicalizer};

/// Largest seed file read.
const FILE_SIZE_BYTES: u64 = 1 << 30;
/// What some editors begin a file of UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Seeds, canonical, and those that were refused with the reason.
#[derive(Debug, Default)]
pub struct Seeds {
    /// Canonical ones.
    pub urls: BTreeSet<CanonicalUrl>,
    /// The others.
    pub refused: Vec<RefusedSeed>,
}

/// A seed that is no URL. Shown as a sentence without its end.
#[derive(Debug)]
pub struct RefusedSeed {
    /// As given, cut and safe to show.
    shown: String,
    /// Of a file, from 1.
    line: Option<usize>,
    reason: String,
}

impl fmt::Display for RefusedSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}", self.shown)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        write!(f, " refused: {}", self.reason)
    }
}

impl Seeds {
    /// Why there is nothing to start from.
    pub fn none(&self) -> CommandError {
        CommandError::Message(match self.refused.len() {
            0 => "no seeds: give URLs or --seeds FILE".to_owned(),
            1 => "no seeds: the only one was refused".to_owned(),
            many => format!("no seeds: all {many} were refused"),
        })
    }

    fn take(&mut self, bytes: &[u8], line: Option<usize>) {
        let url = match std::str::from_utf8(bytes) {
            Ok(text) => Canonicalizer::default()
                .canonicalize(text)
                .map_err(|error| error.to_string()),
            // Replaced by another character it would be another URL.
            Err(_) => Err("it is not UTF-8".to_owned()),
        };
        match url {
            Ok(url) => {
                self.urls.insert(url);
            }
            Err(reason) => self.refused.push(RefusedSeed {
                shown: quoted(bytes),
                line,
                reason,
            }),
        }
    }
}

/// Gathers the seeds of the command line and the file.
pub fn gather(given: &[String], file: Option<&Path>) -> Result<Seeds, CommandError> {
    let mut seeds = Seeds::default();
    for text in given {
        seeds.take(text.as_bytes(), None);
    }
    if let Some(path) = file {
        let bytes = read(path)?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if !line.is_empty() && !line.starts_with(b"#") {
                seeds.take(line, Some(index + 1));
            }
        }
    }
    Ok(seeds)
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    let failed = |e| CommandError::io(format!("cannot read {shown}"), e);
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > FILE_SIZE_BYTES {
        return Err(CommandError::Message(format!(
            "{shown} is larger than {FILE_SIZE_BYTES} bytes"
        )));
    }
    std::fs::read(path).map_err(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of_file(bytes: &[u8]) -> Seeds {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        gather(&[], Some(file.path())).unwrap()
    }

    fn urls(seeds: &Seeds) -> Vec<&str> {
        seeds.urls.iter().map(CanonicalUrl::as_str).collect()
    }

    #[test]
    fn a_line_that_is_not_utf8_is_refused_with_its_number() {
        let seeds =
            of_file(b"http://a.example/\r\n\n# note\nhttp://b.example/\xff\nhttp://c.example/\n");
        assert_eq!(urls(&seeds), ["http://a.example/", "http://c.example/"]);
        let refused = seeds.refused[0].to_string();
        assert_eq!(
            refused,
            r#"seed "http://b.example/\xff" (line 4) refused: it is not UTF-8"#
        );
        assert_eq!(seeds.refused.len(), 1);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let seeds = of_file(b"\xef\xbb\xbfhttp://a.example/\n");
        assert_eq!(urls(&seeds), ["http://a.example/"]);
        assert!(of_file(b"\xef\xbb\xbf# note\n").refused.is_empty());
    }

    #[test]
    fn nothing_to_start_from_says_why() {
        let none = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
            gather(&given, None).unwrap().none().to_string()
        };
        assert!(none(&[]).contains("give URLs"));
        assert!(none(&["ftp://a.example/", "x"]).contains("all 2 were refused"));
    }
}
