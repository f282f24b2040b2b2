//! Named fields, as WARC headers and HTTP heads both have them: a first line, `name: value` lines, an empty line.

/// A parsed block of fields, in order; values are bytes because HTTP's may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) first_line: Vec<u8>,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    /// Size of the block with its empty line.
    pub(crate) size_bytes: usize,
}

impl Fields {
    /// Parses the block at the start of `bytes`, which must have its empty line within `max_bytes`.
    pub(crate) fn parse(bytes: &[u8], max_bytes: usize) -> Option<Fields> {
        let mut rest = bytes.get(..max_bytes.min(bytes.len()))?;
        let first_line = take_line(&mut rest)?.to_vec();
        let mut fields = Vec::new();
        loop {
            let line = take_line(&mut rest)?;
            if line.is_empty() {
                let size_bytes = max_bytes.min(bytes.len()) - rest.len();
                return Some(Fields {
                    first_line,
                    fields,
                    size_bytes,
                });
            }
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = std::str::from_utf8(&line[..colon]).ok()?.to_owned();
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }

    /// The first value under this name, in any case.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self
            .fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    /// The same, as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }
}

/// Cuts the next line off, without its CRLF; nothing when there is no whole line.
fn take_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Some(line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parses_up_to_the_empty_line() {
        let block = b"WARC/1.1\r\nA: 1\r\nb:\xff \r\nA: 2\r\n\r\nrest";
        let fields = Fields::parse(block, 1_000).unwrap();
        assert_eq!(fields.first_line, b"WARC/1.1");
        assert_eq!(fields.get("a"), Some(b"1".as_slice()));
        assert_eq!(fields.get("B"), Some(b"\xff".as_slice()));
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.fields.len(), 3);
        assert_eq!(&block[fields.size_bytes..], b"rest");
    }

    #[test]
    fn a_block_that_does_not_end_is_refused() {
        for block in [
            b"".as_slice(),
            b"WARC/1.1",
            b"WARC/1.1\r\nA: 1\r\n",
            b"WARC/1.1\r\nno colon\r\n\r\n",
        ] {
            assert_eq!(Fields::parse(block, 1_000), None);
        }
        assert_eq!(Fields::parse(b"WARC/1.1\r\nA: 1\r\n\r\n", 10), None);
    }
}
