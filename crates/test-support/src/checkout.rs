//! Files of the checkout, named by their paths in it.

#![allow(clippy::missing_panics_doc, reason = "a file that is missing fails any test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns where a file is. A path that is already absolute stays as it is.
pub fn in_checkout(path: impl AsRef<Path>) -> PathBuf {
    Path::new(crate::ROOT).canonicalize().expect("the root is there").join(path)
}

/// Returns the text of a file.
pub fn text_of(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(in_checkout(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Returns the document in a file of YAML or JSON.
pub fn yaml_of(path: impl AsRef<Path>) -> Value {
    serde_saphyr::from_str(&text_of(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Returns the names of what is in a folder.
pub fn names_in(folder: impl AsRef<Path>) -> BTreeSet<String> {
    let entries = std::fs::read_dir(in_checkout(folder)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8")).collect()
}

/// Returns every file at or below these places whose name has one of these ends, sorted within each place.
pub fn files(places: &[&str], ends: &[&str]) -> Vec<PathBuf> {
    fn collect(place: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
        if in_checkout(place).is_dir() {
            for name in names_in(place) {
                collect(&place.join(name), ends, found);
            }
        } else if place.extension().is_some_and(|end| ends.iter().any(|known| end == *known)) {
            found.push(place.to_owned());
        }
    }
    let mut found = Vec::new();
    for place in places {
        collect(Path::new(place), ends, &mut found);
    }
    found
}
