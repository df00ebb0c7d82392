//! Controllers, a folder for each kind, and what they share.

pub mod remote;
pub mod subject;
