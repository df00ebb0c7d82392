//! Controller of `ConnectorDeployment`: what the shared [`driver`](crate::controllers::driver) does not know about
//! deployments.
//!
//! `observe` reads the remote and Secrets, `act` changes the remote, `outputs` writes a ConfigMap; `reconciler/` connects
//! them to the driver; all others are pure. `decide/` is the operation table of `docs/rules.md`.

pub mod act;
pub mod application_urls;
pub mod applications;
pub mod cache;
pub mod decide;
pub mod declared;
pub mod desired;
pub mod intent;
mod missing;
pub mod observe;
mod outputs;
pub mod persisted;
mod preflight;
mod reconciler;
pub mod registered;
mod remote_object;
pub mod state;
pub mod status;
pub mod value_from;
pub mod verification;
