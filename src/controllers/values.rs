//! Values that a deployment is to have, and those of them that anybody may see. Pure.
//!
//! Secured values stay inside [`SecretString`]; nothing here prints them. Next: `digest.rs`, which makes them
//! comparable.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;

/// Everything that is sent: plain, secured and global values, and schedules.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// By application name.
    pub applications: BTreeMap<String, ApplicationValues>,
    /// For all applications.
    pub global: ApplicationValues,
}

/// Values of one application, or the global ones.
#[derive(Clone, Debug, Default)]
pub struct ApplicationValues {
    /// Plain values by key.
    pub standard: BTreeMap<String, String>,
    /// Secured values by key.
    pub secured: BTreeMap<String, SecretString>,
    /// Cron expression of a job application.
    pub schedule: Option<String>,
}

/// The values that the service shows again: plain ones and schedules (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleValues {
    /// By application name.
    pub applications: BTreeMap<String, VisibleApplication>,
    /// For all applications.
    pub global: BTreeMap<String, String>,
    /// Pairs of application name and key that do not count where values are compared (`spec.drift.ignore`).
    pub ignored: BTreeSet<(String, String)>,
}

/// Visible values of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleApplication {
    /// Plain values by key.
    pub standard: BTreeMap<String, String>,
    /// Cron expression of a job application.
    pub schedule: Option<String>,
}

impl Values {
    /// What of these values can be seen at the remote later.
    #[must_use]
    pub fn visible(&self) -> VisibleValues {
        VisibleValues {
            applications: self
                .applications
                .iter()
                .map(|(name, values)| {
                    let visible =
                        VisibleApplication { standard: values.standard.clone(), schedule: values.schedule.clone() };
                    (name.clone(), visible)
                })
                .collect(),
            global: self.global.standard.clone(),
            ignored: BTreeSet::new(),
        }
    }

    /// Every secured value, to mask texts with.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.applications.values().chain([&self.global]).flat_map(|application| application.secured.values())
    }
}

impl VisibleValues {
    /// The same, where these pairs of application name and key do not count.
    #[must_use]
    pub fn ignoring(mut self, ignored: BTreeSet<(String, String)>) -> Self {
        self.ignored = ignored;
        self
    }
}
