//! What the operator reads of the HTTP API of a project, which stands beside the Connect API under a host of its own: the
//! Extensions and Subscriptions that a connector's scripts create (contract section 15.2).
//!
//! Only reads, and only what tells where a resource points to: destinations also hold credentials, which are never
//! decoded. `http/commerce.rs` sends. Source: the vendor's reference of the HTTP API, as far as the members below go.

use super::ApiError;
use super::api::Answer;
use super::model::{Destination, Extension, Subscription};

/// The HTTP API of one project. `None` stands for a 404 that the service itself gave (`ResourceNotFound`).
pub trait CommerceApi: Send + Sync {
    /// `getExtensionByKey`: an API Extension.
    ///
    /// Needs [`super::scopes::Right::ReadExtensions`].
    fn extension<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Extension>>;

    /// `getSubscriptionByKey`: a Subscription.
    ///
    /// Needs [`super::scopes::Right::ReadSubscriptions`].
    fn subscription<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Subscription>>;
}

/// Kind of a resource that a script creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    /// An API Extension: the service calls a URL.
    Extension,
    /// A Subscription: the service sends messages to a topic or queue.
    Subscription,
}

impl ResourceKind {
    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "Extension",
            Self::Subscription => "Subscription",
        }
    }
}

/// Names one such resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceName {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its key, unique in the project.
    pub key: String,
}

/// Reads where a resource points to; `None`: there is no such resource.
///
/// # Errors
/// Those of the call.
pub async fn destination(api: &dyn CommerceApi, name: &ResourceName) -> Result<Option<Destination>, ApiError> {
    match name.kind {
        ResourceKind::Extension => Ok(api.extension(&name.key).await?.map(|found| found.destination)),
        ResourceKind::Subscription => Ok(api.subscription(&name.key).await?.map(|found| found.destination)),
    }
}
