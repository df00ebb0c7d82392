//! Removes secured values, and the secret parts of them, from texts that the service returns. A [`Masker`] recognizes
//! the values that it was given, in every encoding that servers commonly use; it cannot recognize a value that was
//! truncated or otherwise altered.
//!
//! `parts` finds the parts of a value that are secret on their own; `reading` decodes the ways in which texts are
//! escaped.
//!
//! **Cost.** Values can be 30 KB long. The extracted parts of a value together are a few times as long as the value,
//! because parts of the same kind do not overlap. Base64 is searched in three alignments, so that all patterns together
//! have less than 20 times the bytes of the value. Escaped forms need no patterns: the text is decoded in at most
//! [`reading::MOST`] ways, and each decoded form is searched once. A masker that never masks a text costs nothing.

mod parts;
mod reading;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use self::parts::Parts;
use self::reading::Reading;

/// Replaces a hidden value.
pub const HIDDEN: &str = "***";
/// Replaces a whole text that was omitted.
pub const LEFT_OUT: &str = "(text left out: it contains a secured value)";
/// Maximum length of a masked text, in bytes.
pub const LONGEST_TEXT: usize = 1024;
/// Values with fewer characters are not replaced, because they may be part of ordinary words and the stars would reveal
/// where. The whole text is omitted instead.
const SHORTEST_REPLACED: usize = 6;

/// Masks secured values in texts.
pub struct Masker {
    values: Vec<SecretString>,
    /// Built when the first text arrives, because most maskers never get one.
    search: OnceLock<Search>,
}

/// The compiled search patterns of a masker.
#[derive(Default)]
struct Search {
    /// Patterns to hide at any position.
    anywhere: Option<AhoCorasick>,
    /// Patterns to hide only as whole words.
    words: Option<AhoCorasick>,
    /// Patterns in base64, independent of the bytes encoded before and after them.
    encoded: Option<AhoCorasick>,
    /// Values so short that a text containing one is omitted.
    left_out: Vec<String>,
    /// The same values in base64.
    left_out_encoded: Vec<String>,
}

impl Search {
    fn new(values: &[SecretString]) -> Self {
        let (mut parts, mut left_out) = (Parts::default(), BTreeSet::new());
        for value in values.iter().map(ExposeSecret::expose_secret) {
            let trimmed = value.trim();
            if trimmed.is_empty() {
                continue;
            }
            if trimmed.chars().count() < SHORTEST_REPLACED {
                left_out.insert(trimmed.to_owned());
            } else {
                parts.add(value);
            }
        }
        let encoded: BTreeSet<String> = parts.smallest.iter().flat_map(|part| encoded(part.as_bytes())).collect();
        let left_out_encoded = left_out.iter().map(|value| STANDARD_NO_PAD.encode(value)).collect();
        let built = [&parts.anywhere, &parts.words, &encoded].map(automaton);
        let [Ok(anywhere), Ok(words), Ok(encoded)] = built else {
            // Only gigabytes of values make a build fail. Every text is then omitted.
            return Self { left_out: vec![String::new()], ..Self::default() };
        };
        Self { anywhere, words, encoded, left_out: left_out.into_iter().collect(), left_out_encoded }
    }

    /// Returns whether a text contains a value that is too short to be replaced.
    fn leaves_out(&self, text: &str) -> bool {
        let has = |reading: &Reading, values: &[String]| values.iter().any(|value| reading.contains(value.as_bytes()));
        if self.left_out.is_empty() {
            return false;
        }
        let plain = Reading::all(text).iter().any(|reading| has(reading, &self.left_out));
        plain || has(&Reading::base64(text), &self.left_out_encoded)
    }

    /// Returns the ranges to hide in order of position: byte ranges of `text` on character boundaries.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        for reading in Reading::all(text) {
            for found in self.anywhere.iter().flat_map(|it| it.find_overlapping_iter(&reading.bytes)) {
                places.push(reading.place(text, found.range()));
            }
            let words = self.words.iter().flat_map(|it| it.find_overlapping_iter(&reading.bytes));
            for found in words.filter(|found| reading.is_word(found.range())) {
                places.push(reading.place(text, found.range()));
            }
        }
        if let Some(encoded) = &self.encoded {
            let reading = Reading::base64(text);
            for found in encoded.find_overlapping_iter(&reading.bytes) {
                places.push(reading.place(text, reading.run(found.range())));
            }
        }
        places.sort_unstable_by_key(|place| (place.start, place.end));
        places
    }
}

/// Builds an automaton of the kind with the fastest construction: the other kinds take minutes and a gigabyte for a
/// value of 30 KB. Building fails only beyond 2^31 states.
fn automaton(patterns: &BTreeSet<String>) -> Result<Option<AhoCorasick>, aho_corasick::BuildError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(patterns).map(Some)
}

/// Returns the base64 digits (RFC 4648, standard alphabet) that encode only bits of `bytes`, one text for each possible
/// alignment. They appear in any base64 text that contains `bytes`, however many bytes precede them.
fn encoded(bytes: &[u8]) -> impl Iterator<Item = String> {
    // For each length modulo 3 of the preceding bytes: the number of leading digits that also hold their bits.
    [(0, 0), (1, 2), (2, 3)].into_iter().map(|(before, digits)| {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
        let text = STANDARD_NO_PAD.encode(&padded);
        let whole = padded.len() * 8 / 6;
        text.get(digits..whole).unwrap_or_default().to_owned()
    })
}

impl Masker {
    /// Creates a masker for these values; empty ones are ignored. In a structured value (several lines, `Bearer x`,
    /// `a=x;b=y`, JSON, a URL with a password) each part that is secret on its own is hidden as well.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { values: values.into_iter().map(SecretString::from).collect(), search: OnceLock::new() }
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.values))
    }

    /// Returns whether `text` contains none of the values and none of their secret parts.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        let search = self.search();
        !search.leaves_out(text) && search.places(text).is_empty()
    }

    /// Returns `text` in a form that is safe to show to users: without secured values, URL queries and control
    /// characters, and at most [`LONGEST_TEXT`] bytes long.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        if self.search().leaves_out(text) {
            return LEFT_OUT.to_owned();
        }
        let text = without_queries(&self.hide(text)).replace(char::is_control, " ");
        // Repeated on the cleaned text: a value with spaces may have been broken into lines.
        if self.search().leaves_out(&text) {
            return LEFT_OUT.to_owned();
        }
        let mut text = self.hide(&text);
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text
    }

    fn hide(&self, text: &str) -> String {
        let (mut masked, mut shown_to) = (String::with_capacity(text.len()), 0);
        let mut hidden = self.search().places(text).into_iter().peekable();
        while let Some(Range { start, mut end }) = hidden.next() {
            // Hides overlapping and adjacent ranges as one, otherwise the end of the second value would remain.
            while let Some(next) = hidden.next_if(|next| next.start <= end) {
                end = end.max(next.end);
            }
            masked.push_str(&text[shown_to..start]);
            masked.push_str(HIDDEN);
            shown_to = end;
        }
        masked.push_str(&text[shown_to..]);
        masked
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Masker")
    }
}

/// Removes the query of every URL in a text, because it may contain a signature.
fn without_queries(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let query = word.find("://").and_then(|scheme| word[scheme..].find('?').map(|query| scheme + query));
        kept.push_str(&word[..query.unwrap_or(word.len())]);
        if query.is_some() {
            kept.push_str(&word[word.trim_end().len()..]);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
