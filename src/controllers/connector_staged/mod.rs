//! Controller of `ConnectorStaged`: what the shared [`driver`](crate::controllers::driver) does not know about staged
//! connectors.
//!
//! Its decision table is simpler than that of a deployment: everything that is sent can be read back, and every change
//! names the version to which it applies. A tag takes three steps, update, preview and publish; each begins after the
//! one before has ended. `observe` and `act` are the only files that talk to the remote; all others but `reconciler`
//! are pure.

pub mod act;
pub mod decide;
pub mod desired;
pub mod intent;
pub mod observe;
pub mod persisted;
pub mod proof;
mod reconciler;
mod remote_object;
pub mod status;
pub mod status_conversion;
