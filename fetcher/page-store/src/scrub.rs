//! Reading everything again to find what a disk or a network share did to it (case K11).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::error::{BadRecord, GetError};
use crate::index::{Index, Mark};
use crate::limits;
use crate::page::Place;
use crate::read;
use crate::records::Walk;
use crate::segment::{self, FoundMember};
use crate::warc::RecordType;

/// What a scrub read, and what was wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Whole records read.
    pub records: u64,
    /// Compressed bytes of those records.
    pub bytes: u64,
    /// Payloads whose bytes match their digest.
    pub payloads: u64,
    /// Bytes of those payloads.
    pub payload_bytes: u64,
    /// How many problems there are.
    pub problem_count: u64,
    /// The first [`limits::SCRUB_PROBLEMS_MAX_COUNT`] of them.
    pub problems: Vec<ScrubProblem>,
}

/// One thing that is wrong. Displayed as `FILE at byte N: WHAT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubProblem {
    /// The segment or the index.
    pub path: PathBuf,
    /// Where in the segment; nothing when the whole file is meant.
    pub offset_bytes: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ScrubProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(offset_bytes) = self.offset_bytes {
            write!(f, " at byte {offset_bytes}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Reads every record below the marks: checksum, header, block digest, payload digest, and that index and records agree. Says
/// after each record what was read so far, and ends early when told so.
pub(crate) fn scrub(
    dir: &Path,
    index: &Index,
    watch: &mut dyn FnMut(&ScrubReport) -> ControlFlow<()>,
) -> ScrubReport {
    let marks = index.marks();
    let mut scrubber = Scrubber {
        dir,
        index,
        report: ScrubReport::default(),
        rows_met: 0,
    };
    for item in Walk::new(dir, marks.clone()) {
        match item {
            Ok(found) => scrubber.check(&found),
            Err(error) => scrubber.read_problem(error),
        }
        if watch(&scrubber.report).is_break() {
            return scrubber.report;
        }
    }
    scrubber.check_rows(&marks);
    scrubber.report
}

struct Scrubber<'a> {
    dir: &'a Path,
    index: &'a Index,
    report: ScrubReport,
    /// Rows that name a record that was read.
    rows_met: u64,
}

impl Scrubber<'_> {
    fn check(&mut self, found: &FoundMember) {
        let (place, record) = (found.place, &found.record);
        self.report.records += 1;
        self.report.bytes += place.size_bytes;
        if Digest::of(&record.block) != record.block_digest {
            self.problem(place, BadRecord::BlockDigest);
        }
        let Some(digest) = record.digest else {
            return;
        };
        let row = match self.index.get(&digest) {
            Ok(row) => row,
            Err(error) => return self.index_problem(error.message),
        };
        match (record.record_type, row) {
            (_, None) => self.problem(place, format!("payload {digest} is not in the index")),
            (RecordType::Response, Some(row)) if row.place != place => {
                self.problem(place, format!("payload {digest} is stored a second time"));
            }
            (RecordType::Response, Some(_)) => {
                self.rows_met += 1;
                match read::page_of(record, &digest) {
                    Ok(page) => {
                        self.report.payloads += 1;
                        self.report.payload_bytes += page.payload.len() as u64;
                    }
                    Err(reason) => self.problem(place, reason),
                }
            }
            (_, Some(_)) => {}
        }
    }

    /// Every row must name a record that was met; rows newer than the marks are not looked at.
    fn check_rows(&mut self, marks: &BTreeMap<u32, Mark>) {
        let (dir, index) = (self.dir, self.index);
        let is_older = |place: Place| {
            marks
                .get(&place.segment)
                .is_none_or(|mark| place.end_bytes() <= mark.end_bytes)
        };
        let mut row_count = 0;
        let counted = index.for_each_row(|_, row| row_count += u64::from(is_older(row.place)));
        if let Err(error) = counted {
            return self.index_problem(error.message);
        }
        if row_count == self.rows_met {
            return;
        }
        let named = index.for_each_row(|digest, row| {
            if is_older(row.place)
                && let Err(error) = read::page(dir, row.place, &digest)
            {
                self.problem(row.place, format!("payload {digest} is lost: {error}"));
            }
        });
        if let Err(error) = named {
            self.index_problem(error.message);
        }
    }

    fn read_problem(&mut self, error: GetError) {
        match error {
            GetError::Damaged {
                path,
                offset_bytes,
                reason,
            } => {
                self.push(ScrubProblem {
                    path,
                    offset_bytes: Some(offset_bytes),
                    what: reason.to_string(),
                });
            }
            GetError::Io { path, message } => self.push(ScrubProblem {
                path,
                offset_bytes: None,
                what: message,
            }),
            GetError::Index(message) => self.index_problem(message),
        }
    }

    fn index_problem(&mut self, what: String) {
        self.push(ScrubProblem {
            path: self.index.path().to_owned(),
            offset_bytes: None,
            what,
        });
    }

    fn problem(&mut self, place: Place, what: impl ToString) {
        let path = segment::path(self.dir, place.segment);
        self.push(ScrubProblem {
            path,
            offset_bytes: Some(place.offset_bytes),
            what: what.to_string(),
        });
    }

    fn push(&mut self, problem: ScrubProblem) {
        self.report.problem_count += 1;
        if self.report.problems.len() < limits::SCRUB_PROBLEMS_MAX_COUNT {
            self.report.problems.push(problem);
        }
    }
}
