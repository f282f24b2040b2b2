//! The map and its commands as bytes: one byte of layout version, then protobuf, as all of the project's log entries.
//!
//! Fields are read with their checks: a map that breaks an invariant is not a map.

use prost::Message;

use crate::{
    command::Command,
    invariants::{self, Broken},
    model::ShardMap,
};

/// The layout. A reader of another one must not guess.
pub const LAYOUT: u8 = 1;

/// Bytes that are not a map or a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Nothing there.
    #[error("no bytes")]
    Empty,
    /// Written by another version.
    #[error("layout {0} is not {LAYOUT}")]
    Layout(u8),
    /// Damaged.
    #[error("damaged: {0}")]
    Damaged(String),
    /// It reads, and contradicts itself.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl ShardMap {
    /// The map as bytes. Equal maps have equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        write(self)
    }

    /// The map of bytes.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let map: Self = read(bytes)?;
        invariants::check(&map)?;
        Ok(map)
    }
}

impl Command {
    /// The command as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        write(self)
    }

    /// The command of bytes. One that this version does not know reads as one without a body, and is refused when applied.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        read(bytes)
    }
}

fn write(message: &impl Message) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + message.encoded_len());
    bytes.push(LAYOUT);
    bytes.extend(message.encode_to_vec());
    bytes
}

fn read<M: Message + Default>(bytes: &[u8]) -> Result<M, DecodeError> {
    match bytes.split_first() {
        None => Err(DecodeError::Empty),
        Some((&LAYOUT, rest)) => {
            M::decode(rest).map_err(|error| DecodeError::Damaged(error.to_string()))
        }
        Some((other, _)) => Err(DecodeError::Layout(*other)),
    }
}
