//! The rows of the table.
