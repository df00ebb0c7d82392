//! The body of an error (contract section 8.1), as it is written; `connect/` reads it more leniently.

use serde::{Deserialize, Serialize};

use crate::lenient::nullable;

/// Body of an error (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorResponse {
    /// The HTTP status again.
    #[serde(default, deserialize_with = "nullable")]
    pub status_code: u16,
    /// Text of the first error.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// All errors; may be missing.
    #[serde(default, deserialize_with = "nullable")]
    pub errors: Vec<ErrorObject>,
}

/// One of the errors of an answer (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorObject {
    /// For programs.
    pub code: crate::ErrorCode,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// Further members, which depend on the code.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
