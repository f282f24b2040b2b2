//! The two changes a crawl may ask for in a query: dropping named parameters and sorting.

use std::collections::BTreeSet;

use crate::percent::triplet;

/// Drops the parameters whose decoded name is in `drop_names`, then sorts by name if asked to (stable, so that
/// parameters of one name keep their order). `None` if only empty parameters outlive the dropped ones.
///
/// `query` is in normal form. So is the result: parts are only left out or moved between `&`s.
pub(crate) fn edit_query(
    query: &str,
    drop_names: &BTreeSet<Vec<u8>>,
    sort: bool,
) -> Option<String> {
    let mut params: Vec<&str> = query
        .split('&')
        .filter(|param| !drop_names.contains(&decode_name(name(param))))
        .collect();
    let dropped = params.len() < query.split('&').count();
    if dropped && params.iter().all(|param| param.is_empty()) {
        return None;
    }
    if sort {
        params.sort_by_key(|param| name(param));
    }
    Some(params.join("&"))
}

/// What stands before the first `=`, as written.
fn name(param: &str) -> &str {
    param.split_once('=').map_or(param, |(name, _)| name)
}

/// As a form's receiver reads it: `+` is a space, triplets are bytes.
fn decode_name(name: &str) -> Vec<u8> {
    let bytes = name.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, triplet(bytes, at)) {
            (b'%', Some(value)) => {
                decoded.push(value);
                at += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            _ => decoded.push(byte),
        }
        at += 1;
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(query: &str, names: &[&str], sort: bool) -> Option<String> {
        edit_query(
            query,
            &names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            sort,
        )
    }

    #[test]
    fn drops_by_decoded_name() {
        assert_eq!(
            edit("a=1&sid=9&b=2&sid", &["sid"], false).as_deref(),
            Some("a=1&b=2")
        );
        assert_eq!(
            edit("a%5B%5D=1&a[]=2&b", &["a[]"], false).as_deref(),
            Some("b")
        );
        assert_eq!(
            edit("x+y=1&x%20y=2&z", &["x y"], false).as_deref(),
            Some("z")
        );
        assert_eq!(
            edit("SID=1&sid2=2&x=sid", &["sid"], false).as_deref(),
            Some("SID=1&sid2=2&x=sid")
        );
        assert_eq!(edit("sid=1", &["sid"], false), None);
        assert_eq!(edit("&sid=1&", &["sid"], false), None);
        assert_eq!(edit("", &["sid"], false).as_deref(), Some(""));
        assert_eq!(edit("&", &["sid"], true).as_deref(), Some("&"));
    }

    #[test]
    fn sorts_by_name_and_keeps_the_order_of_equal_names() {
        assert_eq!(
            edit("b=1&a=2&b=0&a=1&a", &[], true).as_deref(),
            Some("a=2&a=1&a&b=1&b=0")
        );
        assert_eq!(edit("ab=1&a=2", &[], true).as_deref(), Some("a=2&ab=1"));
    }
}
