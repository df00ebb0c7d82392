//! Controllers, a folder for each kind, and what they share.

pub mod digest;
pub mod subject;
pub mod values;
