//! Bounds the size of a status: it is stored with its object, sent to every watcher, and written often. Pure.

use serde::Serialize;

/// Maximum size of a status of any kind as JSON, in bytes, without conditions of other controllers and without the state
/// of the operator, which decisions read and nothing cuts. A test fills every field of every kind.
pub const LARGEST_STATUS: usize = 64 * 1024;

/// Truncates a list to its first entries that together take at most `bytes` as JSON.
pub fn keep<T: Serialize>(list: &mut Vec<T>, bytes: usize) {
    let mut sum = 0_usize;
    let fits = list.iter().take_while(|entry| {
        // One byte more for the comma.
        sum = sum.saturating_add(size(entry)).saturating_add(1);
        sum <= bytes
    });
    let kept = fits.count();
    list.truncate(kept);
}

/// Returns the size of a value as JSON, in bytes.
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
