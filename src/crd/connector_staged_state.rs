//! What the operator remembers of a `ConnectorStaged` over restarts: the content of `status.state`, as JSON.
//!
//! It is not part of the API. Nothing in it is cut, because decisions are made from it. What users look at of it, such
//! as the id, the status shows beside it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::connector_staged::ConnectorStaged;
use super::connector_staged_status::{ConnectorStagedStatus, StagedDeployable};

/// Version of the JSON that this version of the operator reads and writes.
const VERSION: u32 = 1;

/// What must survive a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedState {
    /// Id of the staged connector. Once it is known, every call uses it (rule 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The last call that was about to change something; one that was refused does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<StagedCall>,
    /// What the last create or update sent, and what the record showed after it: a service that normalizes values shows
    /// something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentContent>,
    /// The permission for a preview that was requested last, as far as the response was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<RequestedPreview>,
    /// Since when the tag can be deployed as a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployable: Option<StagedDeployable>,
    /// Digest of what was published last, and how, whether that succeeded or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publication: Option<String>,
    /// The last retry request that was served (rule 11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handled_request: Option<String>,
}

/// A call that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedCall {
    /// What it does.
    pub kind: StagedCallKind,
    /// When it was about to be sent.
    pub at: Timestamp,
    /// Version of the record that was read before, which the call names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Status of the record that was read before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_status: Option<String>,
    /// Digest of what it sends; empty for a delete.
    pub digest: String,
    /// What is known of its effect.
    pub outcome: CallOutcome,
}

/// Kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StagedCallKind {
    /// Creates the staged connector.
    Create,
    /// Changes the staged connector.
    Update,
    /// Requests the permission to deploy it as a preview.
    Preview,
    /// Publishes it.
    Publish,
    /// Deletes it.
    Delete,
}

/// What is known of the effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallOutcome {
    /// It may have arrived, or may still arrive.
    Unknown,
    /// The service has accepted it.
    Accepted,
    /// Its response was lost, and the record shows what counts since.
    Lost,
}

/// What a create or an update sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentContent {
    /// Digest of what was desired.
    pub digest: String,
    /// Digest of what the record showed afterwards.
    pub shown: String,
}

/// The permission for a preview that was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestedPreview {
    /// The tag for which it was requested.
    pub tag: String,
    /// What the service has answered.
    pub answer: PreviewAnswer,
}

/// What the service answers to a request for a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreviewAnswer {
    /// The request was accepted, and not observed as pending yet.
    Requested,
    /// It is being reviewed.
    Pending,
    /// The permission was granted.
    Granted,
    /// The permission was refused.
    Refused,
    /// The record does not show the request.
    Unanswered,
}

/// The JSON around a state.
#[derive(Serialize, Deserialize)]
struct Versioned<S> {
    v: u32,
    #[serde(flatten)]
    state: S,
}

impl StagedState {
    /// Returns the text for `status.state`; `None`: there is nothing to remember.
    ///
    /// # Errors
    /// If it cannot be serialized, which is a bug.
    pub fn text(&self) -> Result<Option<String>, serde_json::Error> {
        let text = || serde_json::to_string(&Versioned { v: VERSION, state: self });
        (*self != Self::default()).then(text).transpose()
    }

    /// Whether a record exists that this resource owns, or may exist.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.id.is_some() || self.call.is_some()
    }

    /// Whether a call may have arrived of which nothing else is known.
    #[must_use]
    pub fn is_call_open(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.outcome == CallOutcome::Unknown)
    }
}

impl ConnectorStaged {
    /// Returns what the operator remembers.
    ///
    /// # Errors
    /// As [`ConnectorStagedStatus::remembered`].
    pub fn remembered(&self) -> Result<StagedState, String> {
        self.status.as_ref().map_or_else(|| Ok(StagedState::default()), ConnectorStagedStatus::remembered)
    }
}

impl ConnectorStagedStatus {
    /// Returns what the operator remembers.
    ///
    /// # Errors
    /// A sentence about a text that this version does not understand.
    pub fn remembered(&self) -> Result<StagedState, String> {
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        let Some(text) = &self.state else { return Ok(StagedState::default()) };
        let unreadable = |error: serde_json::Error| format!("status.state cannot be read: {error}");
        match serde_json::from_str(text).map_err(unreadable)? {
            Version { v: VERSION } => {}
            Version { v } => {
                return Err(format!("status.state has version {v}, and this operator knows version {VERSION}"));
            }
        }
        let versioned: Versioned<StagedState> = serde_json::from_str(text).map_err(unreadable)?;
        Ok(versioned.state)
    }

    /// Returns when the operation in progress began; `None`: none is in progress.
    #[must_use]
    pub fn running_since(&self) -> Option<Timestamp> {
        let state = self.remembered().ok()?;
        let reviewed = state.preview.is_some_and(|preview| preview.answer == PreviewAnswer::Pending);
        let call = state.call.filter(|call| {
            call.outcome == CallOutcome::Unknown || reviewed || self.connector_status.as_deref() == Some("Processing")
        })?;
        Some(call.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_only_if_its_version_is_known() {
        let call = StagedCall {
            kind: StagedCallKind::Publish,
            at: "2026-01-01T00:00:01.5Z".parse().expect("a time"),
            from: Some(7),
            from_status: Some("Draft".into()),
            digest: "private:1".into(),
            outcome: CallOutcome::Unknown,
        };
        let state = StagedState { id: Some("one".into()), call: Some(call), ..StagedState::default() };
        let status = |state: Option<String>| ConnectorStagedStatus { state, ..ConnectorStagedStatus::default() };
        let text = state.text().expect("JSON").expect("there is something to remember");
        assert!(text.starts_with(r#"{"v":1,"id":"one","#), "{text}");
        assert_eq!(status(Some(text)).remembered(), Ok(state));
        assert_eq!(StagedState::default().text().expect("JSON"), None);
        assert_eq!(status(None).remembered(), Ok(StagedState::default()));
        for (case, text, expected) in [
            ("a later version", r#"{"v":2,"id":["one"]}"#, "has version 2"),
            ("no version", "{}", "cannot be read"),
            ("another form", r#"{"v":1,"id":["one"]}"#, "cannot be read"),
            ("no JSON", "", "cannot be read"),
        ] {
            let found = status(Some(text.to_owned())).remembered();
            assert!(found.as_ref().is_err_and(|why| why.contains(expected)), "{case}: {found:?}");
        }
    }
}
