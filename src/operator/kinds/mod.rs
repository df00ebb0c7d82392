//! What the operator knows of an object: its kind and its claim.

pub mod managed_kind;
pub mod project_object;
