//! A gzip stream whose content is ten thousand times its size.

use std::io::{self, Write};

use flate2::{Compress, Compression, Crc, FlushCompress};

/// Size of the block that is repeated, in bytes.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// Blocks in the bomb.
pub(super) const BLOCKS: u32 = 10 * 1024;

/// The parts of the stream: the header, one block to be sent [`BLOCKS`] times, and the end.
pub(super) struct Bomb {
    pub(super) header: Vec<u8>,
    pub(super) block: Vec<u8>,
    pub(super) end: Vec<u8>,
}

/// Builds the parts. A deflate block that ends in a full flush stands on a byte boundary and refers to
/// nothing before it, so that its bytes may be repeated (RFC 1951 section 3.2; RFC 1952 for the frame).
pub(super) fn bomb(blocks: u32) -> io::Result<Bomb> {
    let zeros = vec![0; BLOCK_BYTES];
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    let mut deflate = Compress::new(Compression::best(), false);
    deflate
        .compress_vec(&zeros, &mut block, FlushCompress::Full)
        .map_err(io::Error::other)?;
    let mut of_block = Crc::new();
    of_block.update(&zeros);
    let mut of_all = Crc::new();
    for _ in 0..blocks {
        of_all.combine(&of_block);
    }
    // An empty last block with fixed codes.
    let mut end = vec![0x03, 0x00];
    end.write_all(&of_all.sum().to_le_bytes())?;
    // The size is kept modulo 2^32.
    end.write_all(&(BLOCK_BYTES as u32).wrapping_mul(blocks).to_le_bytes())?;
    Ok(Bomb {
        header: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255],
        block,
        end,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_small_bomb_is_a_valid_stream() {
        let parts = bomb(3).unwrap();
        let mut stream = parts.header;
        (0..3).for_each(|_| stream.extend_from_slice(&parts.block));
        stream.extend_from_slice(&parts.end);
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(stream.as_slice())
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!(content.len(), 3 * BLOCK_BYTES);
        assert!(content.len() / stream.len() > 500);
    }
}
