//! Tests of the operation table: a row for each of its rows.
