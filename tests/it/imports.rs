//! No circles of imports: neither between the files of a crate, nor between the folders of `operator/`.
//!
//! A module that uses names of a module around it is no circle: other modules import both as one unit. Paths in
//! attributes count, calls of methods do not.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{self, Source};

/// The path of a module, from the root of its crate.
type Module = [String];

/// Words that the name of a definition follows.
const DEFINES: [&str; 9] = ["struct", "enum", "trait", "type", "fn", "const", "static", "union", "macro_rules"];

/// Most imports that one name passes through.
const DEEPEST: usize = 8;

/// A file or folder uses a name of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: String,
    to: String,
    name: String,
}

/// The modules of one crate.
struct Crate<'s> {
    sources: BTreeMap<Vec<String>, &'s Source>,
    /// What each module calls by which name.
    imports: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
    /// The modules whose names each module imports with `*`.
    globs: BTreeMap<Vec<String>, Vec<Vec<String>>>,
}

impl<'s> Crate<'s> {
    fn new(sources: impl Iterator<Item = &'s Source>) -> Self {
        let sources = sources.map(|source| (source.module(), source)).collect();
        let mut this = Self { sources, imports: BTreeMap::new(), globs: BTreeMap::new() };
        for (module, source) in this.sources.clone() {
            let mut found = Vec::new();
            for (at, _) in source.words.iter().enumerate().filter(|(_, word)| *word == "use") {
                use_tree(&source.words[at + 1..], &mut Vec::new(), &mut found);
            }
            for (path, name) in found {
                let Some(path) = this.absolute(&module, &path) else { continue };
                if name == "*" {
                    this.globs.entry(module.clone()).or_default().push(path);
                } else {
                    this.imports.entry(module.clone()).or_default().insert(name, path);
                }
            }
        }
        this
    }

    /// Returns a path from the root; `None` for a path into another crate.
    fn absolute(&self, module: &Module, path: &Module) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => base.clear(),
                "super" => {
                    base.pop()?;
                }
                "self" => {}
                _ => break,
            }
            rest = after;
        }
        let is_child = || self.sources.contains_key(&[module, &path[..1]].concat());
        (rest.len() < path.len() || is_child()).then(|| [&base, rest].concat())
    }

    /// Returns the module that defines what a path names, and the name; `None` if the path names a module.
    fn definition(&self, path: &Module, depth: usize) -> Option<(Vec<String>, String)> {
        let length = (0..=path.len()).rev().find(|length| self.sources.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let (name, more) = rest.split_first()?;
        if depth < DEEPEST {
            if let Some(imported) = self.imports.get(module).and_then(|names| names.get(name)) {
                return self.definition(&[imported, more].concat(), depth + 1);
            }
            for glob in self.globs.get(module).into_iter().flatten() {
                let found = self.definition(&[glob.as_slice(), std::slice::from_ref(name)].concat(), depth + 1);
                if let Some(found) = found.filter(|(module, name)| self.defines(module, name)) {
                    return Some(found);
                }
            }
        }
        Some((module.to_vec(), name.clone()))
    }

    fn defines(&self, module: &Module, name: &str) -> bool {
        let mut pairs = self.sources[module].words.windows(2);
        pairs.any(|pair| DEFINES.contains(&pair[0].as_str()) && pair[1] == name)
    }

    /// Returns who uses what of which other module that is not around it.
    fn arrows(&self) -> Vec<(&Module, Vec<String>, String)> {
        let mut arrows = Vec::new();
        for (module, source) in &self.sources {
            let imported = self.imports.get(module).into_iter().flat_map(|names| names.values().cloned());
            let written = [&source.words, &source.attributes].map(|words| self.written_paths(module, words));
            let paths = imported.chain(written.into_iter().flatten());
            let definitions = paths.filter_map(|path| self.definition(&path, 0));
            let outside = definitions.filter(|(target, _)| !module.starts_with(target));
            arrows.extend(outside.map(|(target, name)| (module.as_slice(), target, name)));
        }
        arrows
    }

    /// Returns the paths in the code that begin at the root, in this module or in an imported one.
    fn written_paths(&self, module: &Module, words: &[String]) -> Vec<Vec<String>> {
        let imports = self.imports.get(module);
        let begins = |at: &usize| *at == 0 || !["::", "."].contains(&words[at - 1].as_str());
        let path = |at: usize| {
            let mut path = vec![words[at].clone()];
            let mut rest = &words[at + 1..];
            while let [separator, name, after @ ..] = rest
                && separator == "::"
                && is_name(name)
            {
                path.push(name.clone());
                rest = after;
            }
            path
        };
        let paths = (0..words.len()).filter(begins).map(path).filter(|path| path.len() > 1);
        let resolved = paths.filter_map(|path| match imports.and_then(|names| names.get(&path[0])) {
            Some(imported) => Some([imported, &path[1..]].concat()),
            None => self.absolute(module, &path),
        });
        resolved.collect()
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Collects the paths of a `use`, each with the name that it gets; `before`: where the paths begin. Returns the number of
/// tokens.
fn use_tree(words: &[String], before: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) -> usize {
    let length = before.len();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word == "{" {
            while words.get(at).is_some_and(|word| word != "}") {
                at += use_tree(&words[at..], before, found);
                at += usize::from(words.get(at).is_some_and(|word| word == ","));
            }
            at += 1;
        } else if word == "*" {
            found.push((before.clone(), "*".to_owned()));
        } else if is_name(word) {
            if word != "self" || before.is_empty() {
                before.push(word.clone());
            }
            if words.get(at).is_some_and(|next| next == "::") {
                at += 1;
                continue;
            }
            let renamed = words.get(at).is_some_and(|next| next == "as");
            let name = if renamed { words.get(at + 1) } else { before.last() };
            found.extend(name.map(|name| (before.clone(), name.clone())));
            at += if renamed { 2 } else { 0 };
        }
        break;
    }
    before.truncate(length);
    at.max(1)
}

/// Returns the arrows that lead back to where they begin, each with what is used.
fn circles(arrows: &BTreeSet<Arrow>) -> Vec<String> {
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(place) = next.pop() {
            if place == to {
                return true;
            }
            if seen.insert(place) {
                next.extend(arrows.iter().filter(|arrow| arrow.from == place).map(|arrow| &*arrow.to));
            }
        }
        false
    };
    let back = arrows.iter().filter(|arrow| reaches(&arrow.to, &arrow.from));
    back.map(|Arrow { from, to, name }| format!("{from} uses {name} of {to}")).collect()
}

fn crates() -> Vec<Crate<'static>> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources::all() {
        crates.entry(&source.crate_name).or_default().push(source);
    }
    crates.into_values().map(|sources| Crate::new(sources.into_iter())).collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for found in crates() {
        let path = |module: &Module| found.sources[module].path.clone();
        let arrows = found.arrows().into_iter();
        let arrows = arrows.map(|(from, to, name)| Arrow { from: path(from), to: path(&to), name });
        let arrows: BTreeSet<_> = arrows.collect();
        assert!(arrows.len() > found.sources.len() || found.sources.len() < 5, "files use each other");
        assert_eq!(circles(&arrows), Vec::<String>::new());
    }
}

#[test]
fn no_folders_of_the_controllers_import_each_other_in_a_circle() {
    let room = |module: &Module| module.strip_prefix(&["operator".to_owned()])?.first().cloned();
    let mut arrows = BTreeSet::new();
    for found in crates() {
        for (from, to, name) in found.arrows() {
            if let (Some(from), Some(to)) = (room(from), room(&to))
                && from != to
            {
                arrows.insert(Arrow { from, to, name });
            }
        }
    }
    assert!(arrows.len() > 100, "they use each other");
    assert_eq!(circles(&arrows), Vec::<String>::new());
}
