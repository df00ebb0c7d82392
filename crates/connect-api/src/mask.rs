//! Removes secured values, and the secret parts of them, from texts that the service returns. A [`Masker`] recognizes
//! the values that it was given, in every encoding that servers commonly use; it cannot recognize a value that was
//! truncated or otherwise altered.
//!
//! `parts` finds the parts of a value that are secret on their own; `reading` decodes the ways in which texts are
//! escaped; `automaton` searches.
//!
//! **Cost.** Users write the values, and a connector writes the texts, so both are bounded: a text is omitted if there
//! are more than [`LARGEST_VALUES`] of values, or if their automata need more than [`MOST_MEMORY`]; of a text, only the
//! first 64 KiB are searched. Parts of the same kind do not overlap, and base64 is searched in three
//! alignments, so that all patterns together have less than 20 times the bytes of the values. Escaped forms need no
//! patterns: the text is decoded in at most twelve ways, and each decoded form is searched once. The automata exist only
//! while texts are masked, because many maskers can exist at once.

mod automaton;
mod parts;
mod reading;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use self::automaton::{Automaton, Places};
use self::parts::Parts;
use self::reading::Reading;
use crate::text::{one_line, trimmed};

/// Replaces a hidden value.
pub const HIDDEN: &str = "***";
/// Replaces a whole text that was omitted.
pub const LEFT_OUT: &str = "(text left out: it may contain a secured value)";
/// Maximum length of a masked text, in bytes.
pub const LONGEST_TEXT: usize = 1024;
/// Maximum length of a text that is searched, in bytes; the rest is dropped.
const LONGEST_SEARCHED: usize = 64 << 10;
/// Maximum size of all values of a masker, in bytes. With larger ones every text is omitted.
pub const LARGEST_VALUES: usize = 64 << 10;
/// Maximum memory for the automata of a masker, in bytes, as [`automaton::memory`] estimates it: enough for 30 KB of
/// values with several parts.
const MOST_MEMORY: usize = 24 << 20;
/// How many bytes a text may have for one byte of a value. The longest form has 20: `\u005cu0026#x000061;`, which is
/// `&#x000061;` in JSON in JSON.
const LONGEST_ESCAPE: usize = 20;
/// Values with fewer characters are not replaced, because they may be part of ordinary words and the stars would reveal
/// where. The whole text is omitted instead.
const SHORTEST_REPLACED: usize = 6;

/// Masks secured values in texts.
pub struct Masker {
    /// `None`: they are larger than [`LARGEST_VALUES`].
    values: Option<Vec<SecretString>>,
}

/// A masker with its automata. They need up to [`MOST_MEMORY`]: keep them for a few texts, and never across an `await`.
pub struct Compiled(Option<Search>);

/// The compiled search patterns of a masker.
struct Search {
    /// Patterns to hide at any position.
    anywhere: Automaton,
    /// Patterns to hide only as whole words.
    words: Automaton,
    /// Patterns in base64, independent of the bytes encoded before and after them.
    encoded: Automaton,
    /// Values so short that a text containing one is omitted.
    left_out: Automaton,
    /// The same values in base64.
    left_out_encoded: Automaton,
    /// Maximum length of the values, in bytes.
    longest: usize,
}

impl Search {
    /// Builds the automata; `None` if they would need too much memory.
    fn new(values: &[SecretString]) -> Option<Self> {
        let (mut parts, mut left_out) = (Parts::default(), BTreeSet::new());
        for value in values.iter().map(ExposeSecret::expose_secret) {
            let trimmed = seen(value);
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
        let left_out_encoded: BTreeSet<String> = left_out.iter().map(|value| STANDARD_NO_PAD.encode(value)).collect();
        let patterns = [&parts.anywhere, &parts.words, &encoded, &left_out, &left_out_encoded];
        if patterns.iter().map(|patterns| automaton::memory(patterns)).sum::<usize>() > MOST_MEMORY {
            return None;
        }
        let [Ok(anywhere), Ok(words), Ok(encoded), Ok(left_out), Ok(left_out_encoded)] = patterns.map(Automaton::new)
        else {
            // Only gigabytes of patterns make a build fail.
            return None;
        };
        let longest = values.iter().map(|value| value.expose_secret().len()).max().unwrap_or_default();
        Some(Self { anywhere, words, encoded, left_out, left_out_encoded, longest })
    }

    /// Returns whether a text contains a value that is too short to be replaced.
    fn leaves_out(&self, text: &str) -> bool {
        let mut plain = false;
        Reading::each(text, |reading| plain |= self.left_out.occurs(&reading.bytes));
        plain || self.left_out_encoded.occurs(&Reading::base64(text).bytes)
    }

    /// Returns the ranges to hide in order of position: byte ranges of `text` on character boundaries that neither
    /// overlap nor touch, otherwise the end of the second of two values would remain.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Places::default();
        Reading::each(text, |reading| {
            let mut found = Places::default();
            self.anywhere.longest(&reading.bytes, |range| found.add(reading.place(text, range)));
            places.join(found);
            let mut found = Places::default();
            self.words.all(&reading.bytes, |range| {
                if reading.is_word(range.clone()) {
                    found.add(reading.place(text, range));
                }
            });
            places.join(found);
        });
        let (reading, mut found, mut run) = (Reading::base64(text), Places::default(), 0..0);
        self.encoded.longest(&reading.bytes, |range| {
            // A pattern has digits only, so it is within one run.
            if range.end > run.end {
                run = reading.run(range);
                found.add(reading.place(text, run.clone()));
            }
        });
        places.join(found);
        places.into_ranges()
    }

    /// See [`Compiled::mask`].
    fn mask(&self, text: &str) -> Option<String> {
        let searched = &text[..text.floor_char_boundary(LONGEST_SEARCHED)];
        if self.leaves_out(searched) {
            return None;
        }
        let mut shown = one_line(&without_queries(&self.hide(searched)));
        // Repeated on the cleaned text: a value with spaces may have been broken into lines.
        if self.leaves_out(&shown) {
            return None;
        }
        shown = self.hide(&shown);
        if searched.len() < text.len() {
            // The text may have been cut within a value. No step makes a text longer, except that a character that is
            // not shown becomes three bytes, and no escape has such a character. So the last bytes of the result
            // include everything that the last bytes of the text became.
            let whole = shown.len().saturating_sub(self.longest * LONGEST_ESCAPE);
            shown.truncate(shown.floor_char_boundary(whole));
            if shown.is_empty() {
                return None;
            }
        }
        shown.truncate(shown.floor_char_boundary(LONGEST_TEXT));
        Some(shown)
    }

    fn hide(&self, text: &str) -> String {
        let (mut masked, mut shown_to) = (String::with_capacity(text.len()), 0);
        for Range { start, end } in self.places(text) {
            masked.push_str(&text[shown_to..start]);
            masked.push_str(HIDDEN);
            shown_to = end;
        }
        masked.push_str(&text[shown_to..]);
        masked
    }
}

/// Returns what people see of a value, which is what others may repeat: without the invisible characters at its ends, unless it
/// consists of them.
fn seen(value: &str) -> &str {
    match trimmed(value) {
        "" => value.trim(),
        seen => seen,
    }
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
    /// `a=x;b=y`, a form, JSON, a URL with a password) each part that is secret on its own is hidden as well.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut left = LARGEST_VALUES;
        let copy = |value: &str| {
            left = left.checked_sub(value.len())?;
            Some(SecretString::from(value))
        };
        Self { values: values.into_iter().map(copy).collect() }
    }

    /// Builds the automata, for several texts.
    #[must_use]
    pub fn compile(&self) -> Compiled {
        Compiled(self.values.as_deref().and_then(Search::new))
    }

    /// Checks one text, see [`Compiled::is_clean`].
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        self.compile().is_clean(text)
    }

    /// Masks one text, see [`Compiled::mask`].
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        self.compile().mask(text)
    }
}

impl Compiled {
    /// Returns whether `text` contains none of the values and none of their secret parts. A text that is too long to be
    /// searched is not clean.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        let is_clean = |search: &Search| !search.leaves_out(text) && search.places(text).is_empty();
        text.len() <= LONGEST_SEARCHED && self.0.as_ref().is_some_and(is_clean)
    }

    /// Returns `text` in a form that is safe to show to users: without secured values and URL queries, on
    /// one line, as [`crate::text`] shows texts of others, and at most [`LONGEST_TEXT`] bytes long.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        self.0.as_ref().and_then(|search| search.mask(text)).unwrap_or_else(|| LEFT_OUT.to_owned())
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
