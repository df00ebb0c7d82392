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
//! - `reconcile`: the path from an event to a status; `execute`: carries out a decision; `report`: writes to the cluster;
//! - `observe` and `act`: the only files that talk to the remote;
//! - `decide`, `intent`, `kind`, `desired`, `observed`, `proof`, `status`: pure; `state`: what must survive a restart.

mod act;
pub mod decide;
pub mod desired;
mod execute;
pub mod intent;
mod kind;
pub mod observe;
pub mod observed;
pub mod proof;
mod reconcile;
mod report;
pub mod state;
pub mod status;

pub use reconcile::{forget, reconcile};
