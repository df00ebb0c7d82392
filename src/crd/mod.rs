//! The kinds: spec, status, rules, columns.
