//! Configuration values, which have the same form in requests and responses (contract section 4.4).

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lenient::nullable;

/// A plain value of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConfigurationValue {
    /// Name of the variable.
    pub key: String,
    /// Its value.
    #[serde(default, deserialize_with = "nullable")]
    pub value: String,
}

/// A secured value of a configuration. In a response, `value` is not the actual value (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecuredValue {
    /// Name of the variable.
    pub key: String,
    /// Its value, sent in clear text. `Debug` and errors do not show it.
    #[serde(default = "no_secret", serialize_with = "expose", deserialize_with = "secret_or_null")]
    pub value: SecretString,
}

fn no_secret() -> SecretString {
    SecretString::from(String::new())
}

fn expose<S: Serializer>(value: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.expose_secret())
}

fn secret_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    Ok(SecretString::from(nullable::<_, String>(deserializer)?))
}

/// Values of one application (contract section 4.4, `DeploymentConfigurationApplication`).
#[serde_with::apply(Vec => #[serde(default, deserialize_with = "nullable")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfiguration {
    /// Name of the application, as in the connector.
    pub application_name: String,
    /// Plain values; the list is always sent, even if it is empty.
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; the list is always sent, even if it is empty.
    pub secured_configuration: Vec<SecuredValue>,
    /// Cron expression of a job application; overrides the one in its `connect.yaml`.
    pub schedule: Option<String>,
    /// Retry policy of an event application; overrides the one in its `connect.yaml`.
    pub retry_policy: Option<RetryPolicy>,
}

/// How undelivered messages of an event application are sent again (contract section 4.4). Decoding accepts any
/// numbers; code that accepts a policy from a user checks the bounds.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    /// `immediate` or `exponential-backoff`.
    #[serde(default, deserialize_with = "nullable")]
    pub strategy: String,
    /// Minimum pause in seconds, 1 to 600. Required with `exponential-backoff`, not allowed otherwise.
    pub min_backoff_seconds: Option<i64>,
    /// Maximum pause in seconds, 1 to 600 and not below the minimum. Required with `exponential-backoff`, not allowed
    /// otherwise.
    pub max_backoff_seconds: Option<i64>,
    /// Total number of attempts, 5 to 100. Optional with `exponential-backoff`, not allowed otherwise.
    pub max_attempts: Option<i64>,
}

/// Values for all applications (contract section 4.4).
#[serde_with::apply(_ => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalConfiguration {
    /// Plain values.
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values.
    pub secured_configuration: Vec<SecuredValue>,
}
