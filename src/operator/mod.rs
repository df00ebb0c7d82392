//! The operator: a folder for each kind, and what they share. From the top: `manager` runs watches and reconciles;
//! `reconcile` is what every reconcile does with its object; `context` is what a reconcile is given. Besides the kinds, no
//! other folder knows any of these.

pub mod check;
pub mod clients;
pub mod cluster;
pub mod context;
pub mod deployment;
pub mod kinds;
pub mod manager;
pub mod object_ref;
pub mod project;
pub mod reconcile;
pub mod remote;
pub mod reporting;
pub mod spans;
pub mod staged;
#[cfg(test)]
pub(crate) mod testing;
pub mod values;
