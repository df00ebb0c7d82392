//! The Connect API: one contract for the client and the server side.
//!
//! The client and the dev server share [`model`], [`routes`], [`error`] and [`scopes`]. Controllers use only the traits
//! [`ConnectApi`] and [`StagedApi`]. [`action`] covers calls of frontend actions, with the trait
//! [`ActionApi`]. Nothing in this crate depends on Kubernetes.
//!
//! On the client side, [`http`] sends requests, [`paging`] reads lists to the end, [`hosts`] decides which hosts may be
//! called, [`mask`] removes secured values from responses, [`fence`] stops changing calls of a process that may no
//! longer send them, and [`observer`] reports requests for metrics.

pub mod action;
pub mod api;
pub mod client_context;
pub mod commerce;
pub mod error;
pub mod fence;
pub mod hosts;
pub mod http;
pub mod lenient;
pub mod mask;
pub mod model;
pub mod observer;
pub mod paging;
pub mod rate;
pub mod registry;
mod resolver;
pub mod routes;
pub mod scopes;
#[cfg(test)]
mod testing;
pub mod text;
pub mod trace;

pub use action::ActionApi;
pub use api::{ConnectApi, Selector};
pub use client_context::ClientContext;
pub use commerce::CommerceApi;
pub use error::{ApiError, ErrorCode, Reaction};
pub use fence::Fence;
pub use http::HttpConnect;
pub use observer::Observer;
pub use rate::Rate;
pub use registry::StagedApi;
