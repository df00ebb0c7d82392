//! The Connect API: one contract, two sides.
//!
//! [`model`], [`routes`] and [`error`] are shared by the client and the dev server; controllers see only the traits
//! [`ConnectApi`], [`RegistryApi`] and [`StagedApi`]. Beside it [`action`], the calls of frontend actions, with the trait
//! [`ActionApi`]. Nothing here knows of Kubernetes.
//!
//! The client side: [`http`] sends, [`paging`] reads lists to their end, [`hosts`] says where to, [`mask`] keeps secured
//! values out of what comes back, [`fence`] holds back what a process may not send any more, [`observer`] hears what is
//! sent, to be counted. Both sides know [`scopes`].

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
pub use registry::{RegistryApi, StagedApi};
