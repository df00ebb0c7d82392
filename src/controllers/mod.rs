//! Controllers, a folder for each kind.
