//! The desired values of a deployment, and the visible ones among them. Pure.
//!
//! Secured values stay inside [`SecretString`]; nothing here prints them. Next: `digest.rs`, which makes values
//! comparable.

pub mod digest;
pub mod names;

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;

use connect_api::model::RetryPolicy;

/// The field that every retry policy has.
pub const RETRY_STRATEGY: &str = "strategy";

/// All values that are sent: plain, secured and global values, schedules and retry policies.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Values by application name.
    pub applications: BTreeMap<String, ApplicationValues>,
    /// Values for all applications.
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
    /// Retry policy of an event application.
    pub retry_policy: Option<RetryPolicy>,
}

/// The values that the service returns: plain ones, schedules and retry policies (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleValues {
    /// Values by application name.
    pub applications: BTreeMap<String, VisibleApplication>,
    /// Values for all applications.
    pub global: BTreeMap<String, String>,
    /// Pairs of application name and key that comparisons ignore (`spec.drift.ignore`).
    pub ignored: BTreeSet<(String, String)>,
}

/// Visible values of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleApplication {
    /// Plain values by key.
    pub standard: BTreeMap<String, String>,
    /// Cron expression of a job application.
    pub schedule: Option<String>,
    /// Fields of the retry policy of an event application, by name; empty without a policy.
    pub retry_policy: BTreeMap<&'static str, String>,
}

impl ApplicationValues {
    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { standard, secured, schedule, retry_policy } = self;
        standard.is_empty() && secured.is_empty() && schedule.is_none() && retry_policy.is_none()
    }
}

/// Returns the fields of a retry policy that are set, as strings by name. Comparisons use these, because the service
/// may show more fields than were sent.
#[must_use]
pub fn retry_policy_members(policy: &RetryPolicy) -> BTreeMap<&'static str, String> {
    // Destructured, so that a new field cannot be forgotten.
    let RetryPolicy { strategy, min_backoff_seconds, max_backoff_seconds, max_attempts } = policy;
    let number = |number: &Option<i64>| number.map(|number| number.to_string());
    let members = [
        (RETRY_STRATEGY, Some(strategy.clone()).filter(|strategy| !strategy.is_empty())),
        ("minBackoffSeconds", number(min_backoff_seconds)),
        ("maxBackoffSeconds", number(max_backoff_seconds)),
        ("maxAttempts", number(max_attempts)),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl Values {
    /// Returns the values that the remote shows after they were sent.
    #[must_use]
    pub fn visible(&self) -> VisibleValues {
        VisibleValues {
            applications: self
                .applications
                .iter()
                .map(|(name, values)| {
                    let visible = VisibleApplication {
                        standard: values.standard.clone(),
                        schedule: values.schedule.clone(),
                        retry_policy: values.retry_policy.as_ref().map(retry_policy_members).unwrap_or_default(),
                    };
                    (name.clone(), visible)
                })
                .collect(),
            global: self.global.standard.clone(),
            ignored: BTreeSet::new(),
        }
    }

    /// Returns every secured value, to mask it in texts.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.applications.values().chain([&self.global]).flat_map(|application| application.secured.values())
    }
}

impl VisibleValues {
    /// Returns the same values, where comparisons ignore these pairs of application name and key.
    #[must_use]
    pub fn ignoring(mut self, ignored: BTreeSet<(String, String)>) -> Self {
        self.ignored = ignored;
        self
    }
}
