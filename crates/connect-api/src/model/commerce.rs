//! Extensions and Subscriptions of the HTTP API, as far as they tell where they point to. Members with credentials
//! (`authentication`, `accessKey`, `accessSecret`, …) are deliberately absent: they are passed over.

use serde::{Deserialize, Serialize};

use crate::lenient::nullable;

/// An API Extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Unique id.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Current version.
    #[serde(default, deserialize_with = "nullable")]
    pub version: i64,
    /// Unique key in the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is called.
    #[serde(default, deserialize_with = "nullable")]
    pub destination: Destination,
}

/// A Subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Unique id.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Current version.
    #[serde(default, deserialize_with = "nullable")]
    pub version: i64,
    /// Unique key in the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where messages go.
    #[serde(default, deserialize_with = "nullable")]
    pub destination: Destination,
}

/// Where an Extension or a Subscription points to. Which members are there depends on `type`; other types have others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// `HTTP`, `GoogleCloudPubSub`, `SNS`, or another word.
    #[serde(rename = "type", default, deserialize_with = "nullable")]
    pub kind: String,
    /// Address that an Extension of type `HTTP` calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Google Cloud project of a Subscription of type `GoogleCloudPubSub`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Pub/Sub topic of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// ARN of the topic of a Subscription of type `SNS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_arn: Option<String>,
}

impl Destination {
    /// Type of an Extension that calls a URL.
    pub const HTTP: &'static str = "HTTP";
    /// Type of a Subscription to Google Cloud Pub/Sub.
    pub const PUB_SUB: &'static str = "GoogleCloudPubSub";
    /// Type of a Subscription to Amazon SNS.
    pub const SNS: &'static str = "SNS";
}
