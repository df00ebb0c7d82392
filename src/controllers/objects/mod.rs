//! How objects are read from the API server, kept in a store, and patched.

pub mod compressed;
pub mod guarded;
pub mod packed;
pub mod patch;
pub mod served_crds;
