//! The schemas on a real API server: what it accepts, what it refuses with which message, which fields are immutable,
//! and what users and tools see.

mod accepted;
mod checks;
mod identity;
mod refused;
mod shared;
mod shown;
