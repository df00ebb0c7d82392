//! Where Extensions and Subscriptions of the HTTP API point to. Members with credentials
//! (`authentication`, `accessKey`, `accessSecret`, …) are deliberately absent, so that decoding discards them.

use serde::{Deserialize, Serialize};

use crate::lenient::nullable;

/// The target of an Extension or a Subscription. `type` decides which members are present; types that are not modeled
/// here have other members.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// `HTTP`, `GoogleCloudPubSub`, `SNS` or another type.
    #[serde(rename = "type", default, deserialize_with = "nullable")]
    pub kind: String,
    /// URL that an Extension of type `HTTP` calls.
    pub url: Option<String>,
    /// Google Cloud project of a Subscription of type `GoogleCloudPubSub`.
    pub project_id: Option<String>,
    /// Pub/Sub topic of a Subscription of type `GoogleCloudPubSub`.
    pub topic: Option<String>,
    /// ARN of the SNS topic of a Subscription of type `SNS`.
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
