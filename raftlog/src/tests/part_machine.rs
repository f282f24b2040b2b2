//! A machine whose rows are cut in two by an entry: the upper part is another group's from then on.

use bytes::Bytes;

use crate::{
    Applied, Committed, Founded, KeyRange, MachineError, MachineFactory, RowBatch, StateDb,
    StateMachine,
};

/// Rows `r` + key for the keys whose first byte is in its part, and the row `m` + group that says which part that is.
///
/// `put KEY` writes a row, `split GROUP AT` founds a group of the keys from the byte `AT` on.
pub(super) struct PartMachine {
    group_id: u8,
    part: (u8, u8),
    state: StateDb,
}

/// The key of a row.
pub(super) fn row(key: &str) -> Vec<u8> {
    [b"r", key.as_bytes()].concat()
}

fn meta(group_id: u8) -> Vec<u8> {
    vec![b'm', group_id]
}

fn ranges(group_id: u8, (first, last): (u8, u8)) -> Vec<KeyRange> {
    let end = match last.checked_add(1) {
        Some(end) => vec![b'r', end],
        None => vec![b'r' + 1],
    };
    vec![
        KeyRange::new([b'r', first], end),
        KeyRange::prefix(&meta(group_id)),
    ]
}

/// What group 7 starts with: all keys.
pub(super) fn first_rows() -> RowBatch {
    let mut rows = RowBatch::new();
    rows.put(meta(7), [0, u8::MAX]);
    rows
}

/// Makes machines of a group from its row.
pub(super) fn factory(state: StateDb, group_id: u64) -> MachineFactory {
    let group_id = group_id as u8;
    Box::new(move || {
        let part = read_part(&state, group_id)?;
        let state = state.clone();
        Ok(Box::new(PartMachine {
            group_id,
            part,
            state,
        }))
    })
}

fn read_part(state: &StateDb, group_id: u8) -> Result<(u8, u8), MachineError> {
    let row = state.get(&meta(group_id)).map_err(MachineError::new)?;
    let row = row.ok_or_else(|| MachineError::new("no rows"))?;
    Ok((row[0], row[1]))
}

impl StateMachine for PartMachine {
    fn apply(&mut self, entries: &[Committed<'_>]) -> Result<Applied, MachineError> {
        let mut applied = Applied::default();
        for entry in entries {
            let text = std::str::from_utf8(entry.payload).map_err(MachineError::new)?;
            let words: Vec<_> = text.split(' ').collect();
            let reply = match words.as_slice() {
                ["put", key] if (self.part.0..=self.part.1).contains(&key.as_bytes()[0]) => {
                    applied.rows.put(row(key), entry.index.to_be_bytes());
                    "done"
                }
                ["split", child, at] => {
                    let (child, at) = (child.parse::<u8>().unwrap(), at.as_bytes()[0]);
                    let part = (at, self.part.1);
                    self.part.1 = at - 1;
                    applied.rows.put(meta(child), [part.0, part.1]);
                    let own = [self.part.0, self.part.1];
                    applied.rows.put(meta(self.group_id), own);
                    applied.founded.push(Founded {
                        group_id: child.into(),
                        index: entry.index,
                        ranges: ranges(child, part),
                    });
                    "done"
                }
                _ => "elsewhere",
            };
            applied.replies.push(Bytes::from_static(reply.as_bytes()));
        }
        Ok(applied)
    }

    fn committed(&mut self) {}

    fn restored(&mut self) -> Result<(), MachineError> {
        self.part = read_part(&self.state, self.group_id)?;
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        ranges(self.group_id, self.part)
    }
}
