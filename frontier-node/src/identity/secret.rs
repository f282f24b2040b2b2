//! A cluster's secret as a file of its own: 32 hexadecimal digits, as a backup keeps it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use urlkey::FingerprintKey;

use super::{IdentityError, io_error};

/// The digits, a line's end, and one more to see what is too long.
const SIZE_BYTES: u64 = 35;

/// Reads a secret. Blocking.
///
/// # Errors
///
/// The file cannot be read, or holds something else.
pub fn read_secret(path: &Path) -> Result<FingerprintKey, IdentityError> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| io_error(path, &error))?;
    let damaged = |reason: &str| IdentityError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    file.take(SIZE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| io_error(path, &error))?;
    let digits = text.trim_end();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(damaged("it is not 32 hexadecimal digits"));
    }
    let secret = u128::from_str_radix(digits, 16).map_err(|_| damaged("it is no number"))?;
    Ok(FingerprintKey::from_bytes(secret.to_be_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_32_digits_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_secret(&path).map(|key| key.to_bytes())
        };
        let mut expected = [0; 16];
        expected[15] = 0x1f;
        assert_eq!(
            read("0000000000000000000000000000001f\n").unwrap(),
            expected
        );
        for wrong in [
            "",
            "1f",
            "0000000000000000000000000000001g",
            &"0".repeat(33),
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read_secret(&dir.path().join("none")).is_err());
    }
}
