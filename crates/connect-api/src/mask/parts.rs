//! Extracts the parts of a secured value that are secret on their own, because a text may repeat only such a part:
//! lines, tokens, strings in JSON. Pure.
//!
//! Names and common words are not secret: hiding them would make ordinary texts unreadable and reveal where values
//! contain them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::reading::Reading;
use super::{SHORTEST_REPLACED, seen};

/// Minimum length of a line; shorter lines cannot be distinguished from ordinary words.
const SHORTEST_LINE: usize = 3;
/// Minimum length of a token. Tokens shorter than [`SHORTEST_REPLACED`] must contain a digit.
const SHORTEST_TOKEN: usize = 4;
/// Maximum depth of JSON documents nested as strings in JSON.
const DEEPEST: u32 = 3;
/// What separates lines in a value of one line, such as a PEM file in an environment variable.
const LITERAL_BREAKS: &[&str] = &["\\n", "\\r"];
/// Separators that secrets may contain as well, from the coarsest to the finest: parts between those of each level are
/// secret, so that `a/b&c` hides `a/b` as a whole.
const FINER: &[&[&str]] = &[&["|", "\\n", "\\r"], &["&"], &["?"], &["/"]];

/// Lowercase words that commonly appear next to secrets, one a line: URL schemes and paths, member names, and words of
/// service accounts and connection strings.
const COMMON: &str = include_str!("common.txt");

/// The secret parts of values.
#[derive(Default)]
pub(super) struct Parts {
    /// Parts to hide at any position.
    pub(super) anywhere: BTreeSet<String>,
    /// Parts to hide only as whole words, because they are short.
    pub(super) words: BTreeSet<String>,
    /// Those of `anywhere` that contain no other part. Where one appears in base64, all digits around it are hidden, so
    /// that the longer parts need no base64 patterns.
    pub(super) smallest: BTreeSet<String>,
}

impl Parts {
    /// Adds a value as a whole and its secret parts.
    pub(super) fn add(&mut self, value: &str) {
        self.whole(seen(value), 0);
    }

    /// Adds a text that is long enough and secret as a whole. `depth` is the number of JSON documents around it.
    fn whole(&mut self, text: &str, depth: u32) {
        self.anywhere.insert(text.to_owned());
        if !self.tokens(text) {
            self.smallest.insert(text.to_owned());
        }
        for line in text.lines() {
            let lines = std::iter::once(line).chain(ends(line, LITERAL_BREAKS).map(|(start, end)| &line[start..end]));
            lines.map(str::trim).filter(|line| *line != text).for_each(|line| self.line(line));
        }
        if depth < DEEPEST
            && text.starts_with(['{', '[', '"'])
            && let Ok(document) = serde_json::from_str::<Value>(text)
        {
            self.leaves(&document, depth + 1);
        }
    }

    /// Adds the strings and numbers of a document; member names are not secret.
    fn leaves(&mut self, document: &Value, depth: u32) {
        match document {
            Value::String(text) if is_long(text.trim()) && !is_common(text) => self.whole(text.trim(), depth),
            Value::String(text) => {
                self.token(text.trim(), text.trim().len(), FINER);
            }
            Value::Number(number) => {
                let number = number.to_string();
                self.token(&number, number.len(), FINER);
            }
            Value::Array(items) => items.iter().for_each(|item| self.leaves(item, depth)),
            Value::Object(members) => members.values().for_each(|member| self.leaves(member, depth)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn line(&mut self, line: &str) {
        if is_common(line) {
            return;
        }
        if is_long(line) {
            self.anywhere.insert(line.to_owned());
            if !self.tokens(line) {
                self.smallest.insert(line.to_owned());
            }
        } else if line.chars().count() >= SHORTEST_LINE {
            self.words.insert(line.to_owned());
        }
    }

    /// Adds the tokens between spaces, quotes and other separators, except names that only introduce a value. Returns
    /// whether any token is long enough to be hidden at any position.
    fn tokens(&mut self, text: &str) -> bool {
        let (mut rest, mut any) = (text, false);
        while let Some(start) = rest.find(|letter| !is_separator(letter)) {
            rest = &rest[start..];
            let end = rest.find(is_separator).unwrap_or(rest.len());
            any |= self.token(rest, end, FINER);
            rest = &rest[end..];
        }
        any
    }

    /// Adds the token that is the first `length` bytes of `text`, and the tokens between `separators` in it.
    fn token(&mut self, text: &str, length: usize, separators: &[&[&str]]) -> bool {
        let (piece, after) = text.split_at(length);
        if is_common(piece) || is_name(piece, after) {
            return false;
        }
        if !is_long(piece) {
            if piece.chars().count() >= SHORTEST_TOKEN && piece.chars().any(|letter| letter.is_ascii_digit()) {
                self.words.insert(piece.to_owned());
            }
            return false;
        }
        let mut finer = false;
        if let Some((coarsest, others)) = separators.split_first() {
            for (start, end) in ends(piece, coarsest) {
                finer |= self.token(&text[start..], end - start, others);
            }
        }
        // A password in a URL is percent-encoded there, but used in its decoded form.
        let plain = Some(Reading::without_percents(piece)).filter(|plain| plain != piece && is_long(plain));
        for form in plain.into_iter().chain([piece.to_owned()]) {
            if !finer {
                self.smallest.insert(form.clone());
            }
            self.anywhere.insert(form);
        }
        true
    }
}

/// Returns start and end of each piece of a text between any of these separators.
fn ends(text: &str, separators: &[&str]) -> impl Iterator<Item = (usize, usize)> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let starts_here = |at: usize| {
            let separator = separators.iter().find(|separator| text.as_bytes()[at..].starts_with(separator.as_bytes()));
            separator.map(|separator| (at, at + separator.len()))
        };
        let found = (start..text.len()).find_map(starts_here);
        next = found.map(|(_, behind)| behind);
        Some((start, found.map_or(text.len(), |(end, _)| end)))
    })
}

fn is_long(text: &str) -> bool {
    text.chars().count() >= SHORTEST_REPLACED
}

fn is_separator(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, '=' | ':' | ';' | ',' | '"' | '\'' | '`' | '@' | '{' | '}' | '[' | ']' | '(' | ')')
}

/// Returns whether a token only names what follows: `password=…`, `"private_key": …`, `postgres://…`. A token with a
/// digit is not a name, because it may be an id that belongs to a secret. Base64 padding has no value after it.
fn is_name(piece: &str, after: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '-' | '.');
    if !piece.chars().all(letters) {
        return false;
    }
    let after = after.trim_start_matches(['"', '\'']).trim_start();
    let Some(value) = after.strip_prefix(['=', ':']) else { return false };
    !value.is_empty() && !value.starts_with(['=', ';', ','])
}

fn is_common(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    word.is_empty() || COMMON.lines().any(|common| word.eq_ignore_ascii_case(common))
}
