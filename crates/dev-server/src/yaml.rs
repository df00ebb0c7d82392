//! Reads files in YAML or JSON that people write.

use connect_api::text::one_line;
use serde::de::DeserializeOwned;

/// Parses a file.
///
/// # Errors
/// That of [`summary`].
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| summary(&error))
}

/// Returns what is wrong with a file, and where, on one line.
pub(super) fn summary(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    // The other lines quote the file, which may contain client secrets.
    one_line(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
}
