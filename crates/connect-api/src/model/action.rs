//! The error of a frontend action (contract section 11).

use serde::{Deserialize, Serialize};

/// Body of an error of a frontend action, such as of one that is not registered. It has no code, and it is not the
/// error of the Connect API. Read strictly: any other object is not one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionError {
    /// `false`.
    pub ok: bool,
    /// For people.
    pub message: String,
}
