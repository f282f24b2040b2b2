//! `pages-000001.warc.gz`: numbered from one, without gaps.

use std::path::{Path, PathBuf};
use std::{fs, io};

const START: &str = "pages-";
const END: &str = ".warc.gz";
/// Ends the name of a segment that is still being created.
pub(super) const UNFINISHED_END: &str = ".warc.gz.new";

/// The file name of a segment.
pub(crate) fn file_name(number: u32) -> String {
    format!("{START}{number:06}{END}")
}

/// The path of a segment.
pub(crate) fn path(dir: &Path, number: u32) -> PathBuf {
    dir.join(file_name(number))
}

/// The numbers of all segments in a directory, in order.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        numbers.extend(entry?.file_name().to_str().and_then(parse));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Only the one spelling of a number counts, so that two files cannot be the same segment.
fn parse(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(START)?.strip_suffix(END)?;
    let number = digits.parse().ok()?;
    (number > 0 && file_name(number) == name).then_some(number)
}

/// Removes segments whose creation did not end: no record in them was ever acknowledged.
pub(crate) fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| name.starts_with(START) && name.ends_with(UNFINISHED_END))
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_a_number() {
        assert_eq!(file_name(1), "pages-000001.warc.gz");
        for number in [1, 999_999, 1_000_000, u32::MAX] {
            assert_eq!(parse(&file_name(number)), Some(number));
        }
        for name in [
            "pages-1.warc.gz",
            "pages-000000.warc.gz",
            "pages-0000001.warc.gz",
            "pages-+00001.warc.gz",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse("pages-000001.warc.gz.new"), None);
    }
}
