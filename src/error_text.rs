//! What an error of the API server says.

use std::error::Error;

/// Returns what an error says, with its causes: that of a connection names neither the certificate nor the refused port, nor
/// that no more files may be opened. A refusal has one sentence, and a debug form beside it, which is left out.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(kube::Error::Api(status)) = error.downcast_ref() {
            return format!("{} ({})", status.message, status.code);
        }
        let why = error.to_string();
        // Some errors quote their cause.
        if !text.contains(&why) {
            text = if text.is_empty() { why } else { format!("{text}: {why}") };
        }
        cause = error.source();
    }
    text
}
