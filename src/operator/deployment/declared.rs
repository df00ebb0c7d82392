//! What a connector declares: its applications, and the keys of their values.

use std::collections::BTreeMap;

use connect_api::model::ApplicationType;
use secrecy::ExposeSecret as _;

use crate::operator::values::Values;
use crate::operator::values::names::Item;

/// What a connector declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Types of the applications, by name.
    pub applications: BTreeMap<String, ApplicationType>,
    /// The plain and secured values, by name.
    pub keys: BTreeMap<Item, DeclaredKey>,
}

/// A declared value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredKey {
    /// Its default; a secured value has none.
    pub default: Option<String>,
    /// Whether a value has to be given: it is required, and has no default.
    pub required: bool,
}

impl Declared {
    /// Returns the default of a plain value.
    pub fn default_of(&self, item: &Item) -> Option<&String> {
        self.keys.get(item)?.default.as_ref()
    }

    /// Returns the values that the connector requires and that are given as empty texts. Whether the service takes these is
    /// unspecified, so they are sent.
    pub fn empty_required(&self, values: &Values) -> Vec<Item> {
        let visible = values.visible.iter().filter(|(_, text)| text.is_empty()).map(|(item, _)| item);
        let secured = values.secured.iter().filter(|(_, text)| text.expose_secret().is_empty()).map(|(item, _)| item);
        let is_required = |item: &&Item| self.keys.get(item).is_some_and(|key| key.required);
        visible.chain(secured).filter(is_required).cloned().collect()
    }
}
