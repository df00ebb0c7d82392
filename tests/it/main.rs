//! Everything that needs no cluster, in one binary.

mod client;
