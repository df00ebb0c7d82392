//! Code that must accept any bytes, one function for each target. Each must return, whatever its input; a panic is a
//! finding.
//!
//! `cargo test --test fuzz` runs them with the corpus and with inputs of a seeded mutator; `fuzz/` runs them with
//! inputs of libFuzzer. So nothing here may need more than the library and the bytes.

mod actions;
mod answers;
mod bytes;
mod decisions;
mod files;
mod inputs;
mod permissions;
mod stored;
mod texts;

/// A target: its name and its function. Its corpus is the folder of that name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// Every target.
pub(crate) const TARGETS: &[Target] = &[
    ("records", answers::records),
    ("pages", answers::pages),
    ("errors", answers::errors),
    ("tokens", answers::tokens),
    ("headers", answers::headers),
    ("files", files::files),
    ("specifications", files::specifications),
    ("addresses", files::addresses),
    ("actions", actions::actions),
    ("status", stored::status),
    ("digests", stored::digests),
    ("masking", texts::masking),
    ("decisions", decisions::decisions),
    ("permissions", permissions::permissions),
];
