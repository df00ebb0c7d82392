//! The chart before a real API server: whether it takes what is rendered, and whether the rights in it are enough.

mod admitted;
mod rights;
