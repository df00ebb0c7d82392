//! The chart on a real API server: whether the rendered manifests are accepted, and whether the rights in it are
//! sufficient.

mod admitted;
pub(crate) mod rights;
