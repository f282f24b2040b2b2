//! The line a process prints on stdout when it is up: `ready node=1 replica=1 grpc=127.0.0.1:7701 http=127.0.0.1:7781`.

use super::limits::READY_LINE_BYTES;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// The fields of a ready line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ready(BTreeMap<String, String>);

impl Ready {
    /// Reads a line; `None` for any other one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("ready") {
            return None;
        }
        let fields = words.filter_map(|word| word.split_once('='));
        Some(Self(
            fields
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        ))
    }

    /// The first ready line of a stream; `None` when it ends without one.
    pub fn read(out: &mut impl BufRead) -> Option<Self> {
        loop {
            let mut line = Vec::new();
            let limit = u64::try_from(READY_LINE_BYTES).unwrap_or(u64::MAX);
            let read = out.by_ref().take(limit).read_until(b'\n', &mut line).ok()?;
            if read == 0 {
                return None;
            }
            if let Some(ready) = Self::parse(&String::from_utf8_lossy(&line)) {
                return Some(ready);
            }
        }
    }

    /// A field that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Ready;
    use std::io::BufReader;

    #[test]
    fn fields_are_found_whatever_their_order() {
        let ready = Ready::parse("ready replica=4294967297 node=1 grpc=127.0.0.1:7701\n").unwrap();
        assert_eq!(ready.number("node"), Some(1));
        assert_eq!(ready.number("replica"), Some((1 << 32) + 1));
        assert_eq!((ready.number("grpc"), ready.number("http")), (None, None));
    }

    #[test]
    fn other_lines_are_passed_over_and_an_end_is_an_end() {
        let text = b"opening\nreadyish node=1\n\xff\nready session=ab http=-\nready node=9\n";
        let ready = Ready::read(&mut BufReader::new(&text[..])).unwrap();
        assert_eq!(ready.0.get("session").map(String::as_str), Some("ab"));
        assert_eq!(Ready::read(&mut BufReader::new(&b"opening\n"[..])), None);
    }
}
