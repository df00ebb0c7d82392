//! The sources of the workspace as tokens: without comments, and without code that is compiled only for tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The crate that is no part of the program.
const FOR_TESTS: &str = "test-support";

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = of_crate("", &root.join("src"));
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name != FOR_TESTS {
            sources.extend(of_crate(&format!("{name}/"), &entry.path().join("src")));
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

fn of_crate(name: &str, root: &Path) -> Vec<Source> {
    let mut reader = Reader { found: Vec::new(), only_for_tests: BTreeSet::new() };
    reader.folder(root);
    let Reader { found, only_for_tests } = reader;
    let of_tests =
        |path: &Path| only_for_tests.iter().any(|test| path == test || path.starts_with(test.with_extension("")));
    let found = found.into_iter().filter(|(path, _)| !of_tests(path));
    found
        .map(|(file, words)| Source {
            path: format!("{name}{}", file.strip_prefix(root).unwrap().to_str().unwrap()),
            words,
        })
        .collect()
}

struct Reader {
    /// Files, with their tokens.
    found: Vec<(PathBuf, Vec<String>)>,
    /// Files whose `mod` line is under `#[cfg(test)]`.
    only_for_tests: BTreeSet<PathBuf>,
}

impl Reader {
    fn folder(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.folder(&path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let all = words(&std::fs::read_to_string(&path).unwrap());
                let program = self.without_tests(&path, &all);
                self.found.push((path, program));
            }
        }
    }

    /// Returns the tokens that are neither attributes nor under `#[cfg(test)]`.
    fn without_tests(&mut self, file: &Path, mut rest: &[String]) -> Vec<String> {
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
                let mut path = None;
                while let Some(("#", more)) = rest.split_first().map(|(word, more)| (word.as_str(), more)) {
                    let attribute = item(more);
                    path =
                        attribute.iter().position(|word| word == "path").map(|at| attribute[at + 2].clone()).or(path);
                    rest = &more[attribute.len()..];
                }
                let skipped = item(rest);
                self.note(file, skipped, path);
                rest = &rest[skipped.len()..];
            }
        }
        kept
    }

    /// Records which file a `mod name;` declares.
    fn note(&mut self, file: &Path, words: &[String], path: Option<String>) {
        let Some(at) =
            words.iter().position(|word| word == "mod").filter(|_| words.last().is_some_and(|end| end == ";"))
        else {
            return;
        };
        let (folder, stem) = (file.parent().unwrap(), file.file_stem().unwrap());
        let own = ["mod", "lib", "main"].iter().any(|root| stem == *root);
        let inner = if own { folder.to_owned() } else { folder.join(stem) };
        let named = |path: String| folder.join(path.trim_matches('"'));
        self.only_for_tests.insert(path.map_or_else(|| inner.join(format!("{}.rs", words[at + 1])), named));
    }
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
