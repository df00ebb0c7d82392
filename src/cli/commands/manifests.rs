//! The manifests that `export` and `adopt` print.

use connect_api::Selector;
use serde_json::Value;

use super::Failed;
use crate::cli::printing::{print, tell};
use crate::cli::text::yaml;

/// Prints the manifests as one stream of YAML.
///
/// # Errors
/// If they cannot be written.
pub(super) fn print_manifests(manifests: &[Value]) -> Result<(), Failed> {
    let mut documents = String::new();
    for manifest in manifests {
        documents.extend(["---\n", &yaml(manifest).map_err(Failed::Argument)?]);
    }
    Ok(print(&documents)?)
}

/// Returns the records with these keys; all of them if no key is given. `what`: their kind.
///
/// # Errors
/// The first key that no record has.
pub(super) fn with_keys<T>(
    what: &'static str,
    mut found: Vec<T>,
    keys: &[String],
    key_of: impl Fn(&T) -> Option<&String>,
) -> Result<Vec<T>, Failed> {
    found.retain(|record| keys.is_empty() || key_of(record).is_some_and(|key| keys.contains(key)));
    match keys.iter().find(|key| !found.iter().any(|record| key_of(record) == Some(*key))) {
        Some(absent) => Err(Failed::Absent { what, selector: Selector::Key(absent.clone()) }),
        None => Ok(found),
    }
}

/// Reports on standard error the records that have no key. `what`: their kind.
pub(super) fn report_skipped(what: &str, ids: &[String]) {
    for id in ids {
        tell!("skipped: the {what} with the id {id} has no key, which a manifest needs");
    }
}
