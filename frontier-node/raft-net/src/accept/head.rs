//! Whether a client has asked for anything yet: the end of its first request head, found in the bytes as they come.

/// What a server's clients speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// gRPC. A connection may be silent for as long as it likes once it was used: keep-alives find the dead.
    Http2,
    /// Plain HTTP.
    Http1,
}

/// Bytes before the first frame (RFC 9113, 3.4).
const PREFACE_BYTES: usize = 24;
/// Bytes of a frame's header (RFC 9113, 4.1).
const FRAME_HEAD_BYTES: usize = 9;
/// Types of the frames that carry a head, and the flag of the one that ends it (RFC 9113, 6.2 and 6.10).
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Looks for the end of the first request head. Judges nothing else: what is malformed is the server's to refuse.
#[derive(Debug)]
pub(super) enum Head {
    Preface {
        left: usize,
    },
    Frame {
        bytes: [u8; FRAME_HEAD_BYTES],
        filled: usize,
    },
    Payload {
        left: usize,
        is_last: bool,
    },
    /// Bytes of the line that is being read; `None`: nothing but empty lines came yet.
    Lines {
        line: Option<usize>,
    },
    Ended,
}

impl Head {
    pub(super) const fn new(speech: Speech) -> Self {
        match speech {
            Speech::Http2 => Self::Preface {
                left: PREFACE_BYTES,
            },
            Speech::Http1 => Self::Lines { line: None },
        }
    }

    /// Takes the next bytes; true once the head has ended.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && !matches!(self, Self::Ended) {
            let (next, taken) = self.step(bytes);
            if let Some(next) = next {
                *self = next;
            }
            bytes = bytes.get(taken..).unwrap_or_default();
        }
        matches!(self, Self::Ended)
    }

    /// Takes some bytes, at least one: what comes next, if this part has ended, and how many.
    fn step(&mut self, bytes: &[u8]) -> (Option<Self>, usize) {
        match self {
            Self::Preface { left } => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                ((*left == 0).then(Self::frame), taken)
            }
            Self::Frame {
                bytes: head,
                filled,
            } => {
                let taken = bytes.len().min(FRAME_HEAD_BYTES - *filled);
                head[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
                *filled += taken;
                (
                    (*filled == FRAME_HEAD_BYTES).then(|| Self::payload(head)),
                    taken,
                )
            }
            Self::Payload { left, is_last } => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                ((*left == 0).then(|| Self::after(*is_last)), taken)
            }
            Self::Lines { line } => {
                let has_ended = match (bytes[0], *line) {
                    (b'\r', _) | (b'\n', None) => false,
                    (b'\n', Some(0)) => true,
                    (b'\n', Some(_)) => {
                        *line = Some(0);
                        false
                    }
                    (_, length) => {
                        *line = Some(length.unwrap_or(0) + 1);
                        false
                    }
                };
                (has_ended.then_some(Self::Ended), 1)
            }
            Self::Ended => (None, bytes.len()),
        }
    }

    const fn frame() -> Self {
        Self::Frame {
            bytes: [0; FRAME_HEAD_BYTES],
            filled: 0,
        }
    }

    fn payload(head: &[u8; FRAME_HEAD_BYTES]) -> Self {
        let left = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let is_last = matches!(head[3], HEADERS | CONTINUATION) && head[4] & END_HEADERS != 0;
        match left {
            0 => Self::after(is_last),
            left => Self::Payload { left, is_last },
        }
    }

    const fn after(is_last: bool) -> Self {
        if is_last { Self::Ended } else { Self::frame() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags, 0, 0, 0, 1]);
        bytes.extend(payload);
        bytes
    }

    /// After how many bytes the head has ended, fed in pieces.
    fn ends_after(speech: Speech, bytes: &[u8], piece: usize) -> Option<usize> {
        let mut head = Head::new(speech);
        let mut fed = 0;
        for part in bytes.chunks(piece) {
            fed += part.len();
            if head.read(part) {
                return Some(fed);
            }
        }
        None
    }

    #[test]
    fn a_grpc_head_ends_with_its_last_frame_however_it_is_cut() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, &[0; 12]));
        bytes.extend(frame(6, 0, &[0; 8]));
        bytes.extend(frame(HEADERS, 0, b"begun"));
        assert_eq!(
            ends_after(Speech::Http2, &bytes, 1),
            None,
            "pings and half a head"
        );
        bytes.extend(frame(CONTINUATION, END_HEADERS, b"ended"));
        let end = bytes.len();
        bytes.extend(frame(0, 0, b"data"));
        assert_eq!(ends_after(Speech::Http2, &bytes, 1), Some(end));
        for piece in [2, 7, 9, 4_096] {
            assert!(ends_after(Speech::Http2, &bytes, piece).is_some_and(|fed| fed >= end));
        }
    }

    #[test]
    fn a_plain_head_ends_with_an_empty_line() {
        let dripped = b"\r\nGET / HTTP/1.1\r\nHost: x\r\nX: ";
        assert_eq!(ends_after(Speech::Http1, dripped, 1), None);
        let whole = [dripped.as_slice(), b"y\r\n\r\nbody"].concat();
        assert_eq!(ends_after(Speech::Http1, &whole, 1), Some(whole.len() - 4));
    }
}
