//! The string `status.state`: what the operator must remember of a resource, as JSON with a version of its own. It is not
//! part of the API, because only the operator reads it, and nothing in it is ever cut: decisions are made from it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Version {
    v: u32,
}

#[derive(Serialize)]
struct Versioned<'s, S> {
    v: u32,
    #[serde(flatten)]
    state: &'s S,
}

/// How a resource is replaced whose state cannot be read, if it owns a record at the service.
pub const ADOPT: &str =
    "or delete the resource with deletionPolicy: Orphan and create it again with adoptionPolicy: Adopt";

/// Reads the content of `status.state`. `again`: how to replace a resource whose state cannot be read.
///
/// # Errors
/// A sentence that says what to do, if somebody else has edited the state, or a newer version has written it. Nothing may be
/// concluded from such a resource, and nothing sent.
pub fn read<S: DeserializeOwned>(text: &str, again: &str) -> Result<S, String> {
    let unreadable = |why: String| {
        format!(
            "status.state cannot be read: {why}. Nothing is sent for this resource: run the version of the operator that wrote \
             it, {again}"
        )
    };
    let Version { v } = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
    if v != VERSION {
        return Err(unreadable(format!("it has version {v}, and this operator knows version {VERSION}")));
    }
    serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))
}

/// Returns the text that [`read`] reads.
pub fn text<S: Serialize>(state: &S) -> Option<String> {
    serde_json::to_string(&Versioned { v: VERSION, state }).ok()
}
