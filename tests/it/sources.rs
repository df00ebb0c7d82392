//! The sources of the workspace as tokens: without comments, and without code that is compiled only for tests.

use std::sync::LazyLock;

use crate::prelude::*;

/// The crate that is no part of the program.
const FOR_TESTS: &str = "test-support";
/// Parts of the paths of files that are compiled only for tests.
const ONLY_FOR_TESTS: [&str; 6] =
    ["_tests.rs", "/tests.rs", "/testing.rs", "/tests/", "_tests/", "cli/resources/samples.rs"];

/// A file of the program.
pub(crate) struct Source {
    /// Its path below `src/`; for another crate: the name of the crate, and its path below that crate's `src/`.
    pub(crate) path: String,
    /// Its tokens: identifiers, literals, brackets and signs; `::` is one.
    pub(crate) words: Vec<String>,
}

impl Source {
    /// Whether it is in this folder, or is the file of that name.
    pub(crate) fn is_below(&self, place: &str) -> bool {
        let path = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether the tokens of `phrase`, which blanks separate, occur one after the other.
    pub(crate) fn says(&self, phrase: &str) -> bool {
        let phrase: Vec<_> = phrase.split(' ').collect();
        self.words.windows(phrase.len()).any(|words| words == phrase)
    }

    /// Returns what follows `root::` at the beginning of a path: `name` of `root::name`, all names of `root::{one,
    /// two::more}`.
    pub(crate) fn uses_of(&self, root: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let inner = at > 0 && self.words[at - 1] == "::";
            if word != root || inner || self.words.get(at + 1).is_none_or(|next| next != "::") {
                continue;
            }
            let rest = &self.words[at + 2..];
            if rest.first().is_none_or(|first| first != "{") {
                found.extend(rest.first().map(String::as_str));
                continue;
            }
            let (mut depth, mut begins) = (0_usize, false);
            for word in rest {
                match word.as_str() {
                    "{" => (depth, begins) = (depth + 1, depth == 0),
                    "}" if depth == 1 => break,
                    "}" => depth -= 1,
                    "," => begins = depth == 1,
                    name if begins => {
                        found.push(name);
                        begins = false;
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// Returns every file that is part of the program, of all crates.
pub(crate) fn all() -> &'static [Source] {
    static ALL: LazyLock<Vec<Source>> = LazyLock::new(read);
    &ALL
}

fn read() -> Vec<Source> {
    let mut sources = Vec::new();
    for file in files(&["src", "crates"], &["rs"]) {
        let path = file.to_str().unwrap().replacen("/src/", "/", 1);
        let path = path.strip_prefix("src/").or(path.strip_prefix("crates/")).unwrap().to_owned();
        if !path.starts_with(FOR_TESTS) && !ONLY_FOR_TESTS.iter().any(|part| path.contains(part)) {
            sources.push(Source { path, words: without_tests(&words(&text_of(file))) });
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

/// Returns the tokens that are neither attributes nor under `#[cfg(test)]`.
fn without_tests(mut rest: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word != "#" {
            kept.push(word.clone());
            continue;
        }
        let attribute = item(rest);
        rest = &rest[attribute.len()..];
        if attribute.concat() == "[cfg(test)]" {
            while rest.first().is_some_and(|word| word == "#") {
                rest = &rest[1 + item(&rest[1..]).len()..];
            }
            rest = &rest[item(rest).len()..];
        }
    }
    kept
}

/// Returns the tokens up to the end of the first closed bracket, or of the first `;` outside brackets. Round brackets
/// alone end nothing: `pub(crate) mod tests {…}`.
fn item(words: &[String]) -> &[String] {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && ["}", "]", ";"].contains(&word.as_str()) {
            return &words[..=at];
        }
    }
    words
}

/// Splits a source into tokens without comments. Strings are one token each, with their quotation marks.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let length = word_length(rest, first);
            words.push(rest[..length].to_owned());
            length
        };
        rest = &rest[length..];
    }
    words
}

fn word_length(rest: &str, first: char) -> usize {
    let name = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
    let raw = ["r\"", "r#\"", "br\"", "br#\""].iter().find(|begin| rest.starts_with(**begin));
    if let Some(begin) = raw {
        let end = if begin.contains('#') { "\"#" } else { "\"" };
        return begin.len() + rest[begin.len()..].find(end).expect("a raw string ends") + end.len();
    }
    if first == '"' || rest.starts_with("b\"") {
        let begin = rest.find('"').expect("a string begins here") + 1;
        return begin + quoted(&rest[begin..], '"');
    }
    if first == '\'' {
        let mut after = rest[1..].chars();
        let (one, two) = (after.next(), after.next());
        // A character literal, or otherwise a lifetime.
        return if one == Some('\\') || two == Some('\'') { 1 + quoted(&rest[1..], '\'') } else { 1 };
    }
    if rest.starts_with("::") {
        return 2;
    }
    name.max(first.len_utf8())
}

/// Returns the length up to and including the mark that ends a text.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if sign == mark => return at + sign.len_utf8(),
            _ => {}
        }
    }
    panic!("a text does not end")
}
