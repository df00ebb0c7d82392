//! Controller of `ConnectorStaged`: a level-based reconcile.
//!
//! ```text
//! read the object ─▶ gates ─▶ read the record ─▶ decide ─▶ one of: report · call · remove the finalizer
//! ```
//!
//! A tag takes three calls, update, preview and publish; each begins after the one before has ended. Each call names
//! the version that was read. Before it, the status says what is about to be sent; after it, what came of it. A
//! reconcile that finds such a call without an end decides from the record.
//!
//! - `reconcile`: the path from an event to a status; `send`: the one call; `report`: writes to the cluster;
//! - `observe` and `act`: the only files that talk to the remote;
//! - `decide`, `call`, `intent`, `kind`, `desired`, `observed`, `outcome`, `proof`, `status`: pure; `state`: what must survive
//!   a restart.

mod act;
pub mod call;
pub mod decide;
pub mod desired;
pub mod intent;
mod kind;
pub mod observe;
pub mod observed;
pub mod outcome;
pub mod proof;
mod reconcile;
mod report;
mod send;
pub mod state;
pub mod status;

pub use reconcile::{forget, reconcile};
