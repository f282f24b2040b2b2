//! Bytes of rows by kind: what a queued URL, a page and a host take in a node's state before compression.

use crate::bench::model::MapRows;
use crate::bench::outcome::{ratio, rounded};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of the row spaces that are told, by their tag byte (docs/DATA.md).
const KINDS: [(u8, &str); 5] = [
    (b'H', "host"),
    (b'Q', "queue"),
    (b'R', "robots"),
    (b'S', "seen"),
    (b'U', "url"),
];

/// Rows and their bytes, by kind.
#[derive(Debug, Default)]
pub struct RowSizes(BTreeMap<u8, (u64, u64)>);

impl RowSizes {
    /// Of all rows.
    pub fn of(rows: &MapRows) -> Self {
        let mut sizes = Self::default();
        for (key, value) in rows.iter() {
            let Some(tag) = key.first() else { continue };
            let size = sizes.0.entry(*tag).or_default();
            size.0 += 1;
            size.1 += (key.len() + value.len()) as u64;
        }
        sizes
    }

    /// For the outcome's detail: how many there are of a kind, and bytes of one.
    pub fn detail(&self) -> Value {
        let told = KINDS.iter().map(|(tag, name)| {
            let (rows, bytes) = self.0.get(tag).copied().unwrap_or_default();
            let of =
                json!({ "rows": rows, "bytes_a_row": rounded(ratio(bytes as f64, rows as f64)) });
            ((*name).to_owned(), of)
        });
        Value::Object(told.collect())
    }
}
