//! Keeps a status small: it is stored with its object, sent to everybody who watches, and written often. Pure.

use serde::Serialize;

/// Largest status of any kind in bytes of JSON, without conditions of others. A test fills every field of every kind.
pub const LARGEST_STATUS: usize = 64 * 1024;

/// Keeps the first entries of a list that together are at most `bytes` of JSON.
pub fn keep<T: Serialize>(list: &mut Vec<T>, bytes: usize) {
    let mut sum = 0_usize;
    let fits = list.iter().take_while(|entry| {
        // One more for the comma.
        sum = sum.saturating_add(size(entry)).saturating_add(1);
        sum <= bytes
    });
    let kept = fits.count();
    list.truncate(kept);
}

/// Bytes of JSON.
#[must_use]
pub fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entries_that_fit_are_kept() {
        for (bytes, kept) in [(0, 0), (5, 0), (6, 1), (12, 2), (17, 2), (1_000, 3)] {
            let mut list = vec!["aaa", "bbb", "ccc"];
            keep(&mut list, bytes);
            assert_eq!(list.len(), kept, "{bytes}");
        }
    }
}
