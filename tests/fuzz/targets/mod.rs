//! What is tried with any bytes at all, one function for each target. Each must return, whatever it is given; a panic is a
//! finding.
//!
//! `cargo test --test fuzz` feeds them the corpus and what a seeded mutator makes of it; `fuzz/` feeds them whatever
//! libFuzzer finds. So nothing here may need more than the library and the bytes.

mod actions;
mod answers;
mod bytes;
mod decisions;
mod files;
mod inputs;
mod stored;
mod texts;

/// A target: what it is called, and what it does with its bytes. Its corpus is the folder of that name.
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
    ("assertions", actions::assertions),
    ("status", stored::status),
    ("digests", stored::digests),
    ("masking", texts::masking),
    ("decisions", decisions::decisions),
];
