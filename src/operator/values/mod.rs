//! The desired values of a deployment. Pure.
//!
//! Secured values stay inside [`SecretString`]; nothing here prints them. Next: `names.rs` for the names of values,
//! `digest.rs`, which makes values comparable.

pub mod digest;
pub mod names;

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::RetryPolicy;
use secrecy::SecretString;

use self::names::{GLOBAL, Item, VisibleValues};

/// The field that every retry policy has.
pub const RETRY_STRATEGY: &str = "strategy";

/// All values that are sent, by their names.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The applications, also those without values.
    pub applications: BTreeSet<String>,
    /// Plain values, schedules and fields of retry policies.
    pub visible: VisibleValues,
    /// Secured values.
    pub secured: BTreeMap<Item, SecretString>,
}

impl Values {
    /// Whether there is a value of this name.
    pub fn has(&self, item: &Item) -> bool {
        self.visible.contains_key(item) || self.secured.contains_key(item)
    }

    /// Leaves out these applications, with their values.
    pub fn leave_out(&mut self, applications: &BTreeSet<String>) {
        self.applications.retain(|name| !applications.contains(name));
        self.visible.retain(|item, _| !applications.contains(&item.application));
        self.secured.retain(|item, _| !applications.contains(&item.application));
    }

    /// Returns the retry policy of an application.
    pub fn retry_policy(&self, application: &str) -> Option<RetryPolicy> {
        let field = |name| self.visible.get(&Item::retry_policy(application, name));
        let number = |name| field(name).and_then(|text| text.parse().ok());
        Some(RetryPolicy {
            strategy: field(RETRY_STRATEGY)?.clone(),
            min_backoff_seconds: number("minBackoffSeconds"),
            max_backoff_seconds: number("maxBackoffSeconds"),
            max_attempts: number("maxAttempts"),
        })
    }
}

/// Returns the fields of a retry policy that are set, by their names. They are compared one by one, because the service may
/// show more of them than were sent.
pub fn retry_policy(application: &str, policy: &RetryPolicy) -> impl Iterator<Item = (Item, String)> {
    // Destructured, so that a new field cannot be forgotten.
    let RetryPolicy { strategy, min_backoff_seconds, max_backoff_seconds, max_attempts } = policy;
    let number = |number: &Option<i64>| number.map(|number| number.to_string());
    let fields = [
        (RETRY_STRATEGY, Some(strategy.clone()).filter(|strategy| !strategy.is_empty())),
        ("minBackoffSeconds", number(min_backoff_seconds)),
        ("maxBackoffSeconds", number(max_backoff_seconds)),
        ("maxAttempts", number(max_attempts)),
    ];
    fields.into_iter().filter_map(move |(name, value)| Some((Item::retry_policy(application, name), value?)))
}

/// Names an application, or the global values, in messages.
pub fn place(application: &str) -> String {
    if application == GLOBAL { "globalConfiguration".to_owned() } else { format!("application {application}") }
}
