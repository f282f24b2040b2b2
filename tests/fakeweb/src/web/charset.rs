//! Charsets of pages: how they are declared, and how text becomes bytes.

use crate::rng::Rng;

/// A page's charset and the way it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8Header,
    Utf8Meta,
    Latin1Header,
    Latin1Meta,
    CyrillicMeta,
    KatakanaHeader,
    Utf16Mark,
}

impl Charset {
    /// UTF-8 in most cases, each other now and then.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        rng.pick(&[
            Self::Utf8Header,
            Self::Utf8Header,
            Self::Utf8Header,
            Self::Utf8Meta,
            Self::Utf8Meta,
            Self::Latin1Header,
            Self::Latin1Meta,
            Self::CyrillicMeta,
            Self::KatakanaHeader,
            Self::Utf16Mark,
        ])
    }

    /// The `Content-Type` of a page.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Utf8Header => "text/html; charset=utf-8",
            Self::Latin1Header => "text/html; charset=ISO-8859-1",
            Self::KatakanaHeader => "text/html;charset=\"Shift_JIS\"",
            Self::Utf8Meta | Self::Latin1Meta | Self::CyrillicMeta | Self::Utf16Mark => "text/html",
        }
    }

    /// The element of the page's head that declares it, if the page does.
    pub(crate) fn meta(self) -> &'static str {
        match self {
            Self::Utf8Meta => "<meta charset=\"utf-8\">",
            Self::Latin1Meta => {
                "<META http-equiv='Content-Type' content='text/html; charset=iso-8859-1'>"
            }
            Self::CyrillicMeta => "<meta charset=windows-1251>",
            Self::Utf8Header | Self::Latin1Header | Self::KatakanaHeader | Self::Utf16Mark => "",
        }
    }

    /// Some text beyond ASCII that the charset has.
    pub(crate) fn sample(self) -> &'static str {
        match self {
            Self::Utf8Header | Self::Utf8Meta => "été, лето, 夏 ☀",
            Self::Latin1Header | Self::Latin1Meta => "été à Besançon",
            Self::CyrillicMeta => "лето в городе",
            Self::KatakanaHeader => "ﾅﾂﾔｽﾐ",
            Self::Utf16Mark => "été, лето, 夏",
        }
    }

    /// Whether `é` may stand raw in a link.
    pub(crate) fn has_e_acute(self) -> bool {
        !matches!(self, Self::CyrillicMeta | Self::KatakanaHeader)
    }

    /// The bytes of `text`; what the charset lacks becomes `?`.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8Header | Self::Utf8Meta => text.as_bytes().to_vec(),
            Self::Utf16Mark => {
                let mut bytes = vec![0xff, 0xfe];
                bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
                bytes
            }
            _ => text.chars().map(|c| self.single_byte(c)).collect(),
        }
    }

    fn single_byte(self, c: char) -> u8 {
        let code = c as u32;
        let byte = match self {
            _ if code < 0x80 => Some(code),
            Self::Latin1Header | Self::Latin1Meta if (0xa0..0x100).contains(&code) => Some(code),
            Self::CyrillicMeta if (0x410..0x450).contains(&code) => Some(code - 0x410 + 0xc0),
            Self::KatakanaHeader if (0xff61..0xffa0).contains(&code) => Some(code - 0xff61 + 0xa1),
            _ => None,
        };
        byte.map_or(b'?', |byte| byte as u8)
    }
}
