//! The controllers, one folder for each kind, and what they share. From the top: `manager` runs watches and controllers;
//! `reconcile` is what every reconcile does with its object; `context` is what a reconcile is given. Beside the kinds, no other folder knows any of these.

pub mod action_check;
pub mod clients;
pub mod connect_project;
pub mod connector_deployment;
pub mod connector_staged;
pub mod context;
pub mod initial_lists;
pub mod key_ownership;
pub mod kinds;
pub mod manager;
pub mod object_map;
pub mod object_ref;
pub mod objects;
pub mod project_access;
pub mod queue;
pub mod reconcile;
pub mod references;
pub mod remote;
pub mod reporting;
pub mod spans;
pub mod values;
