//! Inside a comment: only its end matters.

/// Where in a comment the machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    /// Behind `<!-`: not yet a comment.
    Opening,
    /// Behind `<!--`, where `>` and `->` already end it.
    Start,
    StartDash,
    /// `<!-` and no second dash: everything up to `>`.
    Bogus,
    Text,
    Dash,
    /// Behind `--`.
    End,
    /// Behind `--!`, which `>` ends as well.
    EndBang,
}

impl Comment {
    /// After one octet more; none when the comment is over.
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        use Comment::{Bogus, Dash, End, EndBang, Opening, Start, StartDash, Text};
        Some(match (self, byte) {
            (Opening, b'-') => Start,
            (Opening | Bogus | Start | StartDash | End | EndBang, b'>') => return None,
            (Opening | Bogus, _) => Bogus,
            (Start, b'-') => StartDash,
            (StartDash | Dash | End, b'-') => End,
            (Text | EndBang, b'-') => Dash,
            (End, b'!') => EndBang,
            _ => Text,
        })
    }
}
