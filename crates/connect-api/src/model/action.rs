//! The error of a frontend action (contract section 11).

use serde::{Deserialize, Serialize};

/// Body of an error of a frontend action, for example of an action that is not registered. It has no error code and
/// differs from the error of the Connect API. Decoded strictly: no other object is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionError {
    /// Always `false`.
    pub ok: bool,
    /// Message for users.
    pub message: String,
}
