//! Keeps secured values, and what is secret in them, out of texts that the service sends back. It hides what it was given, in
//! the spellings that servers use; it cannot know a value that was cut or changed otherwise.
//!
//! `parts` says what of a value is secret by itself, `reading` undoes the ways in which texts are escaped.
//!
//! **Cost.** Values may have 30 KB. The parts of one are together a few times as long as the value, because those of one kind do not
//! overlap; in base64 they are searched in three alignments, so that all patterns have less than 20 times the bytes of the value.
//! Escaped forms need no patterns: the text is read in at most [`reading::MOST`] ways, and each is searched once. A masker
//! that meets no text costs nothing.

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

/// Stands for a value that was hidden.
pub const HIDDEN: &str = "***";
/// Stands for a text that was left out as a whole.
pub const LEFT_OUT: &str = "(text left out: it contains a secured value)";
/// Longest text that is kept, in bytes.
pub const LONGEST_TEXT: usize = 1024;
/// Values of fewer characters are not replaced: they may be part of ordinary words, and the stars would tell where.
/// The text is left out instead.
const SHORTEST_REPLACED: usize = 6;

/// Hides secured values in texts.
pub struct Masker {
    values: Vec<SecretString>,
    /// Made for the first text, because most maskers never meet one.
    search: OnceLock<Search>,
}

/// What is looked for.
#[derive(Default)]
struct Search {
    /// Wherever it stands.
    anywhere: Option<AhoCorasick>,
    /// Where it is a word of its own.
    words: Option<AhoCorasick>,
    /// In base64, whatever stands before and after it there.
    encoded: Option<AhoCorasick>,
    /// Texts with these are left out.
    left_out: Vec<String>,
    /// The same in base64.
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
            // Gigabytes of values: every text is left out.
            return Self { left_out: vec![String::new()], ..Self::default() };
        };
        Self { anywhere, words, encoded, left_out: left_out.into_iter().collect(), left_out_encoded }
    }

    /// Whether a text has a value that is too short to be replaced.
    fn leaves_out(&self, text: &str) -> bool {
        let has = |reading: &Reading, values: &[String]| values.iter().any(|value| reading.contains(value.as_bytes()));
        if self.left_out.is_empty() {
            return false;
        }
        let plain = Reading::all(text).iter().any(|reading| has(reading, &self.left_out));
        plain || has(&Reading::base64(text), &self.left_out_encoded)
    }

    /// Where something is to be hidden, in order; in bytes of `text`, at borders of characters.
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

/// The kind that is made fastest: others need minutes, and a gigabyte, for a value of 30 KB. It fails only beyond 2^31 states.
fn automaton(patterns: &BTreeSet<String>) -> Result<Option<AhoCorasick>, aho_corasick::BuildError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(patterns).map(Some)
}

/// What of `bytes` shows in base64 (RFC 4648, standard alphabet) however many bytes stand before it: the digits that hold
/// nothing but bits of theirs.
fn encoded(bytes: &[u8]) -> impl Iterator<Item = String> {
    // Digits that hold bits of what stands before, by its length modulo 3.
    [(0, 0), (1, 2), (2, 3)].into_iter().map(|(before, digits)| {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
        let text = STANDARD_NO_PAD.encode(&padded);
        let whole = padded.len() * 8 / 6;
        text.get(digits..whole).unwrap_or_default().to_owned()
    })
}

impl Masker {
    /// For these values. Empty ones are passed over; of a value with structure (several lines, `Bearer x`, `a=x;b=y`, JSON, a
    /// URL with a password) each part that is secret by itself is hidden too.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { values: values.into_iter().map(SecretString::from).collect(), search: OnceLock::new() }
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.values))
    }

    /// Whether `text` contains none of the values, and nothing that is secret in them.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        let search = self.search();
        !search.leaves_out(text) && search.places(text).is_empty()
    }

    /// `text` for people: without the values, without query strings and control characters, at most
    /// [`LONGEST_TEXT`] bytes.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        if self.search().leaves_out(text) {
            return LEFT_OUT.to_owned();
        }
        let text = without_queries(&self.hide(text)).replace(char::is_control, " ");
        // Once more: a value with blanks in it may have been broken into lines.
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
            // Values that overlap or touch are hidden as one, else an end of the second one would stay.
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

/// Cuts the query off every URL in a text: it may be signed.
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
