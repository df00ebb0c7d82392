//! The keys that a connector declares.

use std::collections::{BTreeMap, BTreeSet};

use crate::controllers::tags::GLOBAL;

/// Keys that a connector declares, for the `…From` lists (rule 14).
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
    /// Keys of plain values.
    pub standard: BTreeSet<String>,
    /// Keys of secured values.
    pub secured: BTreeSet<String>,
    /// Defaults of plain values, by key.
    pub defaults: BTreeMap<String, String>,
}

impl Declared {
    /// Returns the keys of an application, or the global ones for [`GLOBAL`].
    #[must_use]
    pub fn of(&self, application: &str) -> Option<&DeclaredKeys> {
        if application == GLOBAL { Some(&self.global) } else { self.applications.get(application) }
    }
}
