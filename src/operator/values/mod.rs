//! The desired values of a deployment. Pure.
//!
//! Secured values stay inside [`SecretString`]; nothing here prints them. Next: `names.rs` for the visible ones among
//! them, `digest.rs`, which makes values comparable.

pub mod digest;
pub mod names;

use std::collections::BTreeMap;

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
    /// Returns every secured value, to mask it in texts.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        self.applications.values().chain([&self.global]).flat_map(|application| application.secured.values())
    }
}
