//! The body of an error response (contract section 8.1) as the dev server writes it; the client decodes it more
//! leniently.

use serde::{Deserialize, Serialize};

use crate::lenient::nullable;

/// Body of an error response (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorResponse {
    /// Repeats the HTTP status.
    #[serde(default, deserialize_with = "nullable")]
    pub status_code: u16,
    /// Message of the first error.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// All errors; may be absent.
    #[serde(default, deserialize_with = "nullable")]
    pub errors: Vec<ErrorObject>,
}

/// One error of an error response (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorObject {
    /// Machine-readable code.
    pub code: crate::ErrorCode,
    /// Message for users.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// Further members, depending on the code.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
