//! Which projects may be used, and from which namespaces. Pure.

pub mod namespace_permissions;
