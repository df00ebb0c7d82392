//! Names that the contract allows.

/// Whether a text is a valid key (contract section 4.1).
pub(super) fn is_key(text: &str, longest: usize) -> bool {
    (2..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
