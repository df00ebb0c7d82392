//! Tests take their time limits from `crates/test-support/src/patience.rs`, and assert no duration that a slower machine exceeds.

use crate::prelude::*;
use crate::sources::words;

/// The only place of limits.
const ONE_PLACE: &str = "crates/test-support/src/patience.rs";

/// How limits of real time, or assertions on durations, are written.
const LIMITS: [&str; 7] = [
    "timeout (",
    "timeout_at (",
    ". elapsed ( ) <",
    ". elapsed ( ) >",
    "Instant :: now ( ) <",
    "Instant :: now ( ) >",
    "Instant :: now ( ) +",
];

/// Returns the limits in a source.
fn limits(text: &str) -> Vec<String> {
    let words = words(text);
    let says = |phrase: &str| {
        let phrase: Vec<_> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|words| words == phrase)
    };
    let calls = LIMITS.iter().filter(|phrase| says(phrase)).map(ToString::to_string);
    let options = words.iter().filter(|word| {
        word.split("timeout=").skip(1).any(|value| value.starts_with(|first: char| first.is_ascii_digit()))
    });
    calls.chain(options.cloned()).collect()
}

#[test]
fn every_limit_of_real_time_is_in_one_place() {
    // In `tests/` all files, elsewhere those that are named so.
    let mut found = files(&["src", "crates", "tests"], &["rs"]);
    found.retain(|path| path.to_str().unwrap().contains("test"));
    assert!(found.len() > 250, "{} files were found", found.len());
    found.retain(|path| path != Path::new(ONE_PLACE) && !path.ends_with("it/timeouts.rs"));
    let wrong = found.iter().map(|path| (path, limits(&text_of(path))));
    let wrong: Vec<_> = wrong.filter(|(_, limits)| !limits.is_empty()).collect();
    assert_eq!(wrong, Vec::new(), "take it from {ONE_PLACE}");
}
