//! Values of a configuration: the same in what is sent and in what is shown (contract section 4.4).

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

/// A secured value of a configuration. What stands in a record is not the value (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecuredValue {
    /// Name of the variable.
    pub key: String,
    /// Its value; sent in clear text, shown by nothing else.
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfiguration {
    /// As in the connector.
    pub application_name: String,
    /// Plain values; the list is always sent.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; the list is always sent.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
    /// Cron expression of a job application instead of the one in its `connect.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Policy of an event application instead of the one in its `connect.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryPolicy>,
}

/// How undelivered messages of an event application are sent again (contract section 4.4). Any numbers are read here;
/// their rules are checked by whoever takes a policy in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    /// `immediate` or `exponential-backoff`.
    #[serde(default, deserialize_with = "nullable")]
    pub strategy: String,
    /// Shortest pause in seconds, 1 to 600; with `exponential-backoff` only, and required there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_backoff_seconds: Option<i64>,
    /// Longest pause in seconds, 1 to 600 and not below the shortest; with `exponential-backoff` only, and required there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_backoff_seconds: Option<i64>,
    /// Attempts in all, 5 to 100; with `exponential-backoff` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i64>,
}

/// Values for all applications (contract section 4.4).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalConfiguration {
    /// Plain values.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
}
