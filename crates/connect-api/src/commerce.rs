//! The part of a project's HTTP API that the operator reads: the Extensions and Subscriptions that a connector's
//! scripts create (contract section 15.2). The HTTP API is separate from the Connect API and has its own host.
//!
//! Read-only, and limited to where a resource points to: destinations also contain credentials, which are never
//! decoded. `http/commerce.rs` sends the requests. Source of the members below: the vendor's reference of the HTTP API.

use serde::{Deserialize, Serialize};

use super::api::Answer;
use super::model::Destination;

/// The HTTP API of one project.
pub trait CommerceApi: Send + Sync {
    /// `getExtensionByKey`, `getSubscriptionByKey`: returns where a resource points to; `None` represents a 404 from the
    /// service itself (`ResourceNotFound`).
    ///
    /// Needs [`super::scopes::Right::ReadExtensions`] or [`super::scopes::Right::ReadSubscriptions`].
    fn destination<'a>(&'a self, name: &'a ResourceName) -> Answer<'a, Option<Destination>>;
}

/// The kind of a resource that a connector's script creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ResourceKind {
    /// An API Extension: the service calls a URL.
    Extension,
    /// A Subscription: the service sends messages to a topic or queue.
    Subscription,
}

impl ResourceKind {
    /// Returns the kind's name for messages.
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
