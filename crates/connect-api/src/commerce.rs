//! The part of a project's HTTP API that the operator reads: the Extensions and Subscriptions that a connector's
//! scripts create (contract section 15.2). The HTTP API is separate from the Connect API and has its own host.
//!
//! Read-only, and limited to where a resource points to: destinations also contain credentials, which are never
//! decoded. `http/commerce.rs` sends the requests. Source of the members below: the vendor's reference of the HTTP API.

use super::ApiError;
use super::api::Answer;
use super::model::{Destination, Extension, Subscription};

/// The HTTP API of one project. `None` represents a 404 from the service itself (`ResourceNotFound`).
pub trait CommerceApi: Send + Sync {
    /// `getExtensionByKey`: reads an API Extension.
    ///
    /// Needs [`super::scopes::Right::ReadExtensions`].
    fn extension<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Extension>>;

    /// `getSubscriptionByKey`: reads a Subscription.
    ///
    /// Needs [`super::scopes::Right::ReadSubscriptions`].
    fn subscription<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Subscription>>;
}

/// The kind of a resource that a connector's script creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    /// An API Extension: the service calls a URL.
    Extension,
    /// A Subscription: the service sends messages to a topic or queue.
    Subscription,
}

impl ResourceKind {
    /// Returns the kind's name for messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "Extension",
            Self::Subscription => "Subscription",
        }
    }
}

/// Identifies one Extension or Subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceName {
    /// Its kind.
    pub kind: ResourceKind,
    /// The key, unique in the project.
    pub key: String,
}

/// Returns where a resource points to, or `None` if it does not exist.
///
/// # Errors
/// Returns the error of the API call.
pub async fn destination(api: &dyn CommerceApi, name: &ResourceName) -> Result<Option<Destination>, ApiError> {
    match name.kind {
        ResourceKind::Extension => Ok(api.extension(&name.key).await?.map(|found| found.destination)),
        ResourceKind::Subscription => Ok(api.subscription(&name.key).await?.map(|found| found.destination)),
    }
}
