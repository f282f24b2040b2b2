//! Where in a group's log how many bytes are, without a number for each entry.

use std::collections::VecDeque;

/// Bytes between two marks. A purge by size is this exact.
const STEP_BYTES: u64 = 64 * 1024;

/// Ends of some entries, as bytes from the first entry that the log ever took.
#[derive(Debug, Default)]
pub(super) struct SizeMarks {
    /// (index, end offset) in ascending order.
    marks: VecDeque<(u64, u64)>,
    /// End of the last entry.
    end_bytes: u64,
    /// End of the last purged entry.
    purged_bytes: u64,
}

impl SizeMarks {
    /// An entry was appended, or found while loading; `end_bytes` is its end.
    pub(super) fn push(&mut self, index: u64, end_bytes: u64) {
        self.end_bytes = end_bytes;
        if self
            .marks
            .back()
            .is_none_or(|(_, marked)| end_bytes >= marked + STEP_BYTES)
        {
            self.marks.push_back((index, end_bytes));
        }
    }

    /// Loading starts behind purged entries that ended here.
    pub(super) fn start_at(&mut self, purged_bytes: u64) {
        self.purged_bytes = purged_bytes;
        self.end_bytes = self.end_bytes.max(purged_bytes);
    }

    /// Entries behind `last` are gone; `end_bytes` is the end of `last`.
    pub(super) fn truncate(&mut self, last: u64, end_bytes: u64) {
        while self.marks.back().is_some_and(|(index, _)| *index > last) {
            self.marks.pop_back();
        }
        self.end_bytes = end_bytes;
    }

    /// Entries up to `index` are gone.
    pub(super) fn purge(&mut self, index: u64) {
        while let Some((_, end)) = self.marks.pop_front_if(|(marked, _)| *marked <= index) {
            self.purged_bytes = end;
        }
    }

    /// End of the last entry.
    pub(super) fn end_bytes(&self) -> u64 {
        self.end_bytes
    }

    /// Bytes held, up to one step too many after a purge.
    pub(super) fn held_bytes(&self) -> u64 {
        self.end_bytes.saturating_sub(self.purged_bytes)
    }

    /// The index up to which entries must go so that at most `keep_bytes` stay.
    pub(super) fn excess_index(&self, keep_bytes: u64) -> Option<u64> {
        let bound = self.end_bytes.checked_sub(keep_bytes)?;
        if bound <= self.purged_bytes {
            return None;
        }
        let place = self.marks.partition_point(|(_, end)| *end < bound);
        self.marks.get(place).map(|(index, _)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_purge_and_truncate() {
        let mut marks = SizeMarks::default();
        for index in 1..=10 {
            marks.push(index, index * STEP_BYTES);
        }
        assert_eq!(marks.excess_index(10 * STEP_BYTES), None);
        assert_eq!(marks.excess_index(4 * STEP_BYTES), Some(6));
        marks.purge(6);
        assert_eq!(marks.held_bytes(), 4 * STEP_BYTES);
        assert_eq!(marks.excess_index(4 * STEP_BYTES), None);
        marks.truncate(8, 8 * STEP_BYTES);
        assert_eq!(marks.end_bytes(), 8 * STEP_BYTES);
        assert_eq!(marks.held_bytes(), 2 * STEP_BYTES);
        marks.push(9, 9 * STEP_BYTES);
        assert_eq!(marks.excess_index(STEP_BYTES), Some(8));
    }
}
