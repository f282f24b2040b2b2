//! The list of public suffixes that decides what a site is: the shipped one, or a file's.

use crate::limits::SUFFIX_LIST_BYTES;
use crate::output::CommandError;
use std::path::Path;
use std::sync::Arc;
use urlkey::SuffixList;

/// Reads the list.
pub fn read(file: Option<&Path>) -> Result<Arc<SuffixList>, CommandError> {
    let Some(path) = file else {
        return Ok(SuffixList::shipped());
    };
    let shown = path.display();
    let unread = |e| CommandError::io(format!("cannot read {shown}"), e);
    let size_bytes = std::fs::metadata(path).map_err(unread)?.len();
    if size_bytes > SUFFIX_LIST_BYTES {
        return Err(CommandError::Message(format!(
            "{shown} is larger than {SUFFIX_LIST_BYTES} bytes"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let list = SuffixList::parse(&text)
        .map_err(|e| CommandError::of(&format!("suffix list {shown}"), e))?;
    Ok(Arc::new(list))
}
