//! The keys that a connector declares.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::ApplicationType;
use secrecy::ExposeSecret as _;

use crate::operator::values::names::{GLOBAL, Item};
use crate::operator::values::{ApplicationValues, Values};

/// What a connector declares: applications and keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// By application name.
    pub applications: BTreeMap<String, DeclaredKeys>,
    /// For all applications.
    pub global: DeclaredKeys,
}

/// Declared keys of one application, or the global ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredKeys {
    /// The type of the application; `None` for the global ones.
    pub application_type: Option<ApplicationType>,
    /// Keys of plain values.
    pub standard: BTreeSet<String>,
    /// Keys of secured values.
    pub secured: BTreeSet<String>,
    /// Defaults of plain values, by key.
    pub defaults: BTreeMap<String, String>,
    /// Keys that require a value, of both kinds, without those that have a default.
    pub required: BTreeSet<String>,
}

impl Declared {
    /// Returns the keys of an application, or the global ones for [`GLOBAL`].
    #[must_use]
    pub fn of(&self, application: &str) -> Option<&DeclaredKeys> {
        if application == GLOBAL { Some(&self.global) } else { self.applications.get(application) }
    }

    /// Returns the values that the connector requires and that are given as empty texts. Whether the service takes these is
    /// unspecified, so they are sent.
    #[must_use]
    pub fn empty_required(&self, values: &Values) -> Vec<Item> {
        let all = values.applications.iter().map(|(name, values)| (name.as_str(), values));
        let given = all.chain([(GLOBAL, &values.global)]);
        let empty = |(place, given): (&str, &ApplicationValues)| {
            let required = |key: &String| self.of(place).is_some_and(|keys| keys.required.contains(key));
            let standard = given.standard.iter().filter(|(key, value)| value.is_empty() && required(key));
            let secured = given.secured.iter().filter(|(key, value)| value.expose_secret().is_empty() && required(key));
            let standard = standard.map(|(key, _)| Item::standard(place, key));
            standard.chain(secured.map(|(key, _)| Item::secured(place, key))).collect::<Vec<_>>()
        };
        given.flat_map(empty).collect()
    }
}
