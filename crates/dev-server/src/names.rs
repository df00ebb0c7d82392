//! Names that the contract allows.

/// The five regions of contract section 1.
pub const REGIONS: [&str; 5] =
    ["europe-west1.gcp", "us-central1.gcp", "australia-southeast1.gcp", "us-east-2.aws", "eu-central-1.aws"];

/// Whether a text is a valid key (contract section 4.1).
pub(super) fn is_key(text: &str, longest: usize) -> bool {
    (2..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
