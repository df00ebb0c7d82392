//! What the operator knows of the cluster, and does to its objects.

pub mod initial_lists;
pub mod keys;
pub mod object_map;
pub mod objects;
pub mod permissions;
pub mod queue;
pub mod references;
