//! The Connect API on this machine.
