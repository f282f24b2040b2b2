//! The store's own id: made once, kept in a file, part of every record id.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::disk::{Disk, OsDisk};
use crate::error::OpenError;
use crate::warc::once_seed;

const FILE_NAME: &str = "store-id";
const NEW_FILE_NAME: &str = "store-id.new";

/// Reads the id, or makes one.
pub(crate) fn read_or_create(dir: &Path) -> Result<[u8; 16], OpenError> {
    let path = dir.join(FILE_NAME);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let mut id = [0; 16];
            hex::decode_to_slice(text.trim_end(), &mut id)
                .map_err(|_| OpenError::StoreId { path })?;
            Ok(id)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(dir).map_err(|source| OpenError::Io {
                what: "create",
                path,
                source,
            })
        }
        Err(source) => Err(OpenError::Io {
            what: "read",
            path,
            source,
        }),
    }
}

/// Written aside, synced, renamed, so that the name never stands for half an id.
fn create(dir: &Path) -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    id.copy_from_slice(&once_seed(dir.as_os_str().as_encoded_bytes())[..16]);
    let aside = dir.join(NEW_FILE_NAME);
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&aside)?;
    file.write_all(format!("{}\n", hex::encode(id)).as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, dir.join(FILE_NAME))?;
    OsDisk.sync_dir(dir)?;
    Ok(id)
}
