//! Every coding, whole and damaged, in pieces of every size.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use reqwest::header::HeaderValue;

use super::*;

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn br(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ::brotli::CompressorWriter::new(&mut out, 4096, 5, 22)
        .write_all(data)
        .unwrap();
    out
}

fn zst(data: &[u8]) -> Vec<u8> {
    ::zstd::stream::encode_all(data, 3).unwrap()
}

fn decoder(encoding: &str) -> Result<Option<Decoder>, DecodeError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
    Decoder::for_response(&headers)
}

fn decode(encoding: &str, coded: &[u8], piece: usize) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = decoder(encoding)?.unwrap();
    let mut out = Vec::new();
    for piece in coded.chunks(piece) {
        assert_eq!(
            decoder.push(piece, usize::MAX / 2, &mut out)?,
            Pushed::Taken
        );
    }
    assert_eq!(decoder.finish(usize::MAX / 2, &mut out)?, Pushed::Taken);
    Ok(out)
}

fn text() -> Vec<u8> {
    (0..20_000_u32)
        .flat_map(|n| {
            format!("line {} of a page\n", n.wrapping_mul(2_654_435_761) % 977).into_bytes()
        })
        .collect()
}

#[test]
fn every_coding_in_pieces_of_every_size() {
    let text = text();
    for (name, coded) in [
        ("gzip", gzip(&text)),
        ("x-gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("Deflate", raw(&text)),
        ("br", br(&text)),
        ("zstd", zst(&text)),
    ] {
        for piece in [1, 7, 4_096, usize::MAX] {
            assert_eq!(
                decode(name, &coded, piece).unwrap(),
                text,
                "{name} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn members_and_frames_in_a_row_are_one_body() {
    assert_eq!(
        decode("gzip", &[gzip(b"one "), gzip(b"two")].concat(), 3).unwrap(),
        b"one two"
    );
    assert_eq!(
        decode("zstd", &[zst(b"one "), zst(b"two")].concat(), 3).unwrap(),
        b"one two"
    );
}

#[test]
fn layers_are_undone_from_the_last() {
    let text = text();
    assert_eq!(decode("br, gzip", &gzip(&br(&text)), 1_000).unwrap(), text);
    assert_eq!(
        decode("gzip, identity, zstd", &zst(&gzip(&text)), 10).unwrap(),
        text
    );
    assert_eq!(
        decoder("gzip, gzip, gzip").err(),
        Some(DecodeError::Unsupported)
    );
    assert_eq!(decoder("compress").err(), Some(DecodeError::Unsupported));
    assert!(decoder("identity").unwrap().is_none() && decoder("utf-8").unwrap().is_none());
}

#[test]
fn a_cut_at_any_byte_is_seen() {
    let text = b"some text that is long enough to be compressed, compressed, compressed".as_slice();
    for (name, coded) in [
        ("gzip", gzip(text)),
        ("deflate", zlib(text)),
        ("deflate", raw(text)),
        ("br", br(text)),
        ("zstd", zst(text)),
    ] {
        for length in 1..coded.len() {
            assert!(
                decode(name, &coded[..length], 16).is_err(),
                "{name} cut at {length}"
            );
        }
        assert_eq!(
            decode(name, b"", 16).unwrap(),
            b"",
            "{name}: an empty body is empty"
        );
    }
}

#[test]
fn junk_is_damaged() {
    for name in ["gzip", "br", "zstd", "deflate"] {
        assert!(
            decode(name, b"<html>this was never compressed at all</html>", 5).is_err(),
            "{name}"
        );
    }
}

/// case D11: a bomb is stopped in the decoder.
#[test]
fn output_stops_at_the_room() {
    let zeros = vec![0; 8 << 20];
    for (name, coded) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("br", br(&zeros)),
        ("zstd", zst(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
    ] {
        let mut decoder = decoder(name).unwrap().unwrap();
        let mut out = Vec::new();
        let mut pushed = Pushed::Taken;
        for piece in coded.chunks(512) {
            pushed = decoder.push(piece, 100_000 - out.len(), &mut out).unwrap();
            if pushed == Pushed::Full {
                break;
            }
        }
        assert_eq!((pushed, out.len()), (Pushed::Full, 100_000), "{name}");
    }
}

/// A frame that asks for a window of 128 MiB is refused before it is allocated.
#[test]
fn zstd_windows_are_bounded() {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder
        .set_parameter(::zstd::stream::raw::CParameter::WindowLog(27))
        .unwrap();
    encoder.write_all(&text()).unwrap();
    assert_eq!(
        decode("zstd", &encoder.finish().unwrap(), 1_000),
        Err(DecodeError::Damaged)
    );
}

proptest::proptest! {
    #[test]
    fn never_panics(junk in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), piece in 1_usize..50) {
        for name in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
            let _ = decode_bounded(name, &junk, piece);
        }
    }
}

fn decode_bounded(name: &str, input: &[u8], piece: usize) -> Result<(), DecodeError> {
    let mut decoder = decoder(name)?.unwrap();
    let mut out = Vec::new();
    for piece in input.chunks(piece) {
        if decoder.push(piece, 10_000_usize.saturating_sub(out.len()), &mut out)? == Pushed::Full {
            return Ok(());
        }
    }
    decoder
        .finish(10_000_usize.saturating_sub(out.len()), &mut out)
        .map(|_| ())
}
