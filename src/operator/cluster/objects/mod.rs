//! How objects are read from the API server, watched and patched; also Secrets, and the digest key in one.

pub mod digest_key;
pub mod guarded;
pub mod patch;
pub mod secret;
