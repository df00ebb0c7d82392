//! How the work is followed: reconciles and lists for metrics and liveness, counts of the resources, and the spans of traces.

pub mod initial_lists;
pub mod inventory;
pub mod spans;
pub mod tracker;
