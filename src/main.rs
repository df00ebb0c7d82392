//! The `connect-operator` binary.
fn main() {}
