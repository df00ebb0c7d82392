//! What the operator knows of an object: its kind, its claim, what its status keeps of the remote.

pub mod managed_kind;
pub mod project_object;
pub mod remote_object;
