//! The schemas on a real API server: what it accepts, what it refuses and with which words, what never changes, and
//! what people and tools see.

mod accepted;
mod checks;
mod identity;
mod refused;
mod shown;
