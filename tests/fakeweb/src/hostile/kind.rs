//! The kinds of trouble.

/// What a hostile server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A body of HTML in chunks that never ends.
    EndlessBody,
    /// A body that comes at one byte a second.
    Drip,
    /// 300 kB of header lines.
    HeaderFlood,
    /// One header line of 300 kB.
    HugeHeader,
    /// Two thousand `Set-Cookie` lines, 200 kB.
    CookieFlood,
    /// `Content-Length` with a NUL byte after 12.
    LengthNul,
    /// `Content-Length: 12, 12`.
    LengthList,
    /// Two different `Content-Length` lines, 12 and 5.
    LengthTwice,
    /// `Content-Length: -1`.
    LengthNegative,
    /// `Content-Length: 1e3`.
    LengthExponent,
    /// A `Content-Length` beyond 64 bits.
    LengthHuge,
    /// Half the bytes announced, then a clean close.
    ShortBody,
    /// Chunks, then a clean close without the last, empty one.
    ChunkedNoEnd,
    /// A chunk size that is no number.
    ChunkedBadSize,
    /// Twice the bytes announced.
    LongBody,
    /// A whole gzip stream of 10 MB that holds 10 GiB.
    GzipBomb,
    /// `Content-Encoding: gzip` over bytes that are none.
    GzipGarbage,
    /// Half a body, then a reset.
    ResetMidBody,
    /// Takes the request and says nothing.
    NeverAnswers,
    /// `/` leads to `/a`, that to `/b`, that to `/`.
    RedirectLoop,
    /// `/n` leads to `/n+1`, for ever.
    RedirectEndless,
    /// A `Location` with raw UTF-8 bytes; the page there answers 200.
    LocationUtf8,
    /// A `Location` with spaces; the page there answers 200.
    LocationSpaces,
    /// A redirect without `Location`.
    LocationMissing,
    /// 304 to a request without a condition.
    NotModified,
    /// A `/robots.txt` that never ends; other paths are ordinary pages.
    EndlessRobots,
    /// The first byte comes after two seconds; then an ordinary page.
    SlowFirstByte,
    /// Bytes that are not HTTP.
    NotHttp,
    /// 100 interim answers, then an ordinary page.
    InterimFlood,
}

impl Kind {
    /// Each kind once.
    pub const ALL: [Kind; 29] = [
        Kind::EndlessBody,
        Kind::Drip,
        Kind::HeaderFlood,
        Kind::HugeHeader,
        Kind::CookieFlood,
        Kind::LengthNul,
        Kind::LengthList,
        Kind::LengthTwice,
        Kind::LengthNegative,
        Kind::LengthExponent,
        Kind::LengthHuge,
        Kind::ShortBody,
        Kind::ChunkedNoEnd,
        Kind::ChunkedBadSize,
        Kind::LongBody,
        Kind::GzipBomb,
        Kind::GzipGarbage,
        Kind::ResetMidBody,
        Kind::NeverAnswers,
        Kind::RedirectLoop,
        Kind::RedirectEndless,
        Kind::LocationUtf8,
        Kind::LocationSpaces,
        Kind::LocationMissing,
        Kind::NotModified,
        Kind::EndlessRobots,
        Kind::SlowFirstByte,
        Kind::NotHttp,
        Kind::InterimFlood,
    ];
}
