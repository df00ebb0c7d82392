//! The route of a frontend action (contract section 11). Pure.

use connect_api::action::Preset;

/// The route of a call of an action; the action need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActionRoute {
    pub(crate) preset: Preset,
    pub(crate) method: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ActionRoute {
    /// Returns the route if the segments, already percent-decoded, are those of an action.
    pub(crate) fn of(method: &str, segments: &[&str]) -> Option<Self> {
        let [first, "action", namespace, name] = segments else { return None };
        let preset = [Preset::SERVICE, Preset::FRONTASTIC];
        let preset =
            preset.into_iter().find(|preset| preset.prefix.strip_prefix('/') == Some(&format!("{first}/action")));
        let (namespace, name) = ((*namespace).to_owned(), (*name).to_owned());
        Some(Self { preset: preset?, method: method.to_owned(), namespace, name })
    }

    /// Returns the name of the operation in the contract; `none` for a method that actions do not support.
    pub(crate) fn operation(&self) -> &'static str {
        self.preset.operation(&self.method).unwrap_or("none")
    }
}
