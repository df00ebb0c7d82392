//! Controller of `ConnectorDeployment`.
//!
//! `reconcile/` is the path from an event to a status. `observe` reads the remote and Secrets, `act` changes the remote,
//! `outputs` writes a ConfigMap; all others are pure. `decide/` is the operation table of `docs/rules.md`.

pub mod act;
pub mod application_urls;
pub mod applications;
mod cache;
pub mod decide;
pub mod declared;
pub mod desired;
pub mod intent;
mod kind;
mod missing;
pub mod observe;
mod outputs;
pub mod persisted;
mod preflight;
mod reconcile;
pub mod registered;
pub mod state;
pub mod status;
pub mod value_from;
pub mod verification;

pub use reconcile::{forget, reconcile};
