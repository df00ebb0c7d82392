//! Objects and keys that a spec names and that do not exist, with the fields that need them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::operator::cluster::references::Referenced;
use crate::operator::reporting::reason::Reason;

/// Maximum number of fields that a message lists for one object or key.
const FIELDS: usize = 4;

/// An object, or one key of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MissingItem {
    kind: Referenced,
    object: String,
    /// `None`: the object does not exist.
    key: Option<String>,
}

/// What is missing, each with the fields that need it.
#[derive(Debug, Default)]
pub(super) struct Missing(BTreeMap<MissingItem, BTreeSet<String>>);

impl Missing {
    /// Notes that the object does not exist. `field`: the field that names it.
    pub(super) fn object(&mut self, kind: Referenced, object: &str, field: &str) {
        self.note(MissingItem { kind, object: object.to_owned(), key: None }, field);
    }

    /// Notes that the object exists, but does not have the key.
    pub(super) fn key(&mut self, kind: Referenced, object: &str, key: &str, field: &str) {
        self.note(MissingItem { kind, object: object.to_owned(), key: Some(key.to_owned()) }, field);
    }

    fn note(&mut self, place: MissingItem, field: &str) {
        self.0.entry(place).or_default().insert(field.to_owned());
    }

    /// Returns the reason and the message; `None` if nothing is missing.
    pub(super) fn report(&self) -> Option<(Reason, String)> {
        let secret = self.0.keys().any(|place| place.kind == Referenced::Secret);
        let reason = if secret { Reason::SecretMissing } else { Reason::ConfigMapMissing };
        (!self.0.is_empty()).then(|| (reason, self.sentences("does not exist in this namespace")))
    }

    /// Returns the message for a plan that knows files, and no namespace.
    pub(super) fn among_files(&self) -> String {
        self.sentences("is not among the files")
    }

    /// `absent`: the words about an object that does not exist.
    fn sentences(&self, absent: &str) -> String {
        let each: Vec<String> = self.0.iter().map(|(place, fields)| sentence(place, fields, absent)).collect();
        each.join("; ")
    }
}

fn sentence(place: &MissingItem, fields: &BTreeSet<String>, absent: &str) -> String {
    let MissingItem { kind, object, key } = place;
    let kind = kind.as_str();
    let what = match key {
        None => format!("{kind} {object} {absent}"),
        Some(key) => format!("{kind} {object} has no key {key}"),
    };
    let listed: Vec<&str> = fields.iter().take(FIELDS).map(String::as_str).collect();
    let more = fields.len().saturating_sub(FIELDS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{what} (needed by {}{more})", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_files_names_no_namespace() {
        let mut missing = Missing::default();
        missing.object(Referenced::ConfigMap, "c", "A");
        missing.key(Referenced::Secret, "s", "k", "B");
        let expected = "Secret s has no key k (needed by B); ConfigMap c is not among the files (needed by A)";
        assert_eq!(missing.among_files(), expected);
    }

    #[test]
    fn a_long_list_of_fields_is_counted() {
        let mut missing = Missing::default();
        for number in 0..FIELDS + 2 {
            missing.object(Referenced::Secret, "tax", &format!("KEY{number}"));
        }
        let message = missing.report().map(|(_, message)| message).unwrap_or_default();
        assert!(message.ends_with("KEY2, KEY3 and 2 more)"), "{message}");
    }
}
