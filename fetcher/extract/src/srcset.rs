//! "Parse a srcset attribute" (HTML standard): commas inside addresses do not part candidates.

use crate::limits::MAX_SRCSET_CANDIDATES;

/// The addresses of the candidates whose descriptors are valid.
pub(crate) fn candidates(srcset: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = srcset;
    while found.len() < MAX_SRCSET_CANDIDATES {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            break;
        }
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let address = word.trim_end_matches(',');
        if address.len() < word.len() {
            found.push(address);
            rest = after;
            continue;
        }
        let (descriptors, after) = split_descriptors(after);
        if descriptors.split_ascii_whitespace().all(is_descriptor) {
            found.push(address);
        }
        rest = after;
    }
    found
}

/// Up to the next comma outside parentheses.
fn split_descriptors(text: &str) -> (&str, &str) {
    let mut inside = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => inside = true,
            b')' => inside = false,
            b',' if !inside => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// A width or height in whole pixels, or a density.
fn is_descriptor(word: &str) -> bool {
    let Some(unit) = word.chars().last().filter(char::is_ascii) else {
        return false;
    };
    let number = &word[..word.len() - 1];
    match unit {
        'w' | 'h' => {
            !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
                && number.bytes().any(|b| b != b'0')
        }
        'x' => number
            .parse::<f64>()
            .is_ok_and(|n| n.is_finite() && n >= 0.0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// case F7: the standard's algorithm, commas and all.
    #[test]
    fn commas_and_descriptors() {
        for (srcset, expected) in [
            ("a,b 1x, c 2x", vec!["a,b", "c"]),
            ("a.jpg, b.jpg 2x", vec!["a.jpg", "b.jpg"]),
            ("data:,x 1x", vec!["data:,x"]),
            ("a,b,c", vec!["a,b,c"]),
            ("a,, b", vec!["a", "b"]),
            (" ,, a 100w ,b 2.5x,\tc", vec!["a", "b", "c"]),
            ("a 1q, b 1x", vec!["b"]),
            ("a (1,2), b", vec!["b"]),
            ("a 0w, b 1e2x", vec!["b"]),
            ("a \u{e9}", vec![]),
            ("", vec![]),
            (" , ", vec![]),
        ] {
            assert_eq!(candidates(srcset), expected, "{srcset:?}");
        }
    }

    #[test]
    fn candidates_are_bounded() {
        assert_eq!(
            candidates(&"a 1x, ".repeat(1_000)).len(),
            MAX_SRCSET_CANDIDATES
        );
    }
}
