//! What the operator remembers of a `ConnectorStaged` over restarts: what the record at the service does not show. Most of
//! it is the content of `status.state`; what users look at of it has a field of its own there.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::connector_staged::{ConnectorStaged, StagedRepository};
use super::connector_staged_status::{ConnectorStagedStatus, PreviewPermission};
use super::state;
use crate::names;

/// Why a connector cannot be deployed while its spec does not ask for the permission.
pub const NOT_REQUESTED: &str = "permission to deploy it as a preview was not requested: set preview: Request there";

/// What must survive a restart.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedState {
    /// Id of the staged connector: `status.id`. Once it is known, every call uses it (rule 3).
    #[serde(skip)]
    pub id: Option<String>,
    /// The last retry request that was served (rule 11): `status.handledRetryRequest`.
    #[serde(skip)]
    pub handled_request: Option<String>,
    /// The last call that was about to change something; one that was refused does not count.
    pub call: Option<StagedCall>,
    /// What the last create or update sent, and what the record showed after it: a service that normalizes values shows
    /// something else.
    pub sent: Option<SentContent>,
    /// The permission for a preview that was requested last, if the response was read.
    pub preview: Option<RequestedPreview>,
    /// Since when the tag can be deployed as a preview.
    pub deployable: Option<StagedDeployable>,
    /// Digest of what was published last, and how, whether that succeeded or not.
    pub publication: Option<String>,
}

/// A call that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedCall {
    /// What it does.
    pub kind: StagedCallKind,
    /// When it was about to be sent.
    pub at: Timestamp,
    /// Version of the record that was read before, which the call names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Digest of what it sends; empty for a delete.
    pub digest: String,
    /// Whether it may have arrived, or may still arrive. Otherwise the service has accepted it, or the record shows what
    /// counts since.
    pub open: bool,
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

/// What a create or an update sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentContent {
    /// Digest of what was desired.
    pub digest: String,
    /// Digest of what the record showed afterwards.
    pub shown: String,
}

/// The permission for a preview that was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedPreview {
    /// The tag for which it was requested.
    pub tag: String,
    /// Whether the record has shown the request, or an answer to it.
    pub shown: bool,
}

/// The first version in which a tag can be deployed as a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedDeployable {
    /// The tag.
    pub repository: StagedRepository,
    /// First version of the connector in which the permission was observed.
    pub version: i64,
}

/// What deployments need to know of a staged connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConnector {
    /// Its id, once it exists.
    pub id: Option<String>,
    /// The first version that can be deployed as the spec asks for, or why none can.
    pub deployable: Result<i64, String>,
}

impl StagedState {
    /// Whether a record exists that this resource owns, or may exist.
    pub fn has_begun(&self) -> bool {
        self.id.is_some() || self.call.is_some()
    }

    /// Whether a call may have arrived of which nothing else is known.
    pub fn is_call_open(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.open)
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

impl ConnectorStaged {
    /// Returns what its deployments need to know of it.
    pub fn connector(&self) -> StagedConnector {
        let status = self.status.clone().unwrap_or_default();
        let is_granted = status.preview == Some(PreviewPermission::Granted);
        let known = status.remembered().ok().and_then(|state| state.deployable);
        let known = known.filter(|known| is_granted && known.repository == self.spec.repository);
        let why = || {
            let ready = status.conditions.iter().find(|condition| condition.type_ == names::READY);
            match ready {
                _ if !self.spec.requests_preview() => NOT_REQUESTED.to_owned(),
                Some(ready) => ready.message.clone(),
                None => "the operator has not reconciled it yet".to_owned(),
            }
        };
        let deployable = known.map(|known| known.version).ok_or_else(why);
        StagedConnector { id: status.id.clone(), deployable }
    }
}

impl ConnectorStagedStatus {
    /// Returns what the operator remembers.
    ///
    /// # Errors
    /// A sentence about a text that this version does not understand.
    pub fn remembered(&self) -> Result<StagedState, String> {
        let state = self.state.as_deref().map(|text| state::read(text, state::ADOPT)).transpose()?.unwrap_or_default();
        let (id, handled_request) = (self.id.clone(), self.handled_retry_request.clone());
        Ok(StagedState { id, handled_request, ..state })
    }

    /// Stores what the operator remembers.
    pub fn remember(&mut self, state: &StagedState) {
        self.id.clone_from(&state.id);
        self.handled_retry_request.clone_from(&state.handled_request);
        let is_empty = StagedState { id: None, handled_request: None, ..state.clone() } == StagedState::default();
        self.state = if is_empty { None } else { state::text(state) };
    }

    /// Returns when the operation in progress began; `None`: none is in progress.
    pub fn running_since(&self) -> Option<Timestamp> {
        let state = self.remembered().ok()?;
        let reviewed = state.preview.is_some() && self.preview == Some(PreviewPermission::Pending);
        let is_busy = reviewed || self.remote.as_ref().and_then(|remote| remote.state.as_deref()) == Some("Processing");
        Some(state.call.filter(|call| call.open || is_busy)?.at)
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
            digest: "private:1".into(),
            open: true,
        };
        let state = StagedState { id: Some("one".into()), call: Some(call), ..StagedState::default() };
        let mut status = ConnectorStagedStatus::default();
        status.remember(&state);
        let text = status.state.as_deref().unwrap_or_default();
        assert!(text.starts_with(r#"{"v":1,"call":{"#) && !text.contains("one"), "{text}");
        assert_eq!(status.remembered(), Ok(state));
        status.remember(&StagedState::default());
        assert_eq!((&status.id, &status.state), (&None, &None));
        assert_eq!(status.remembered(), Ok(StagedState::default()));
        for (case, text, expected) in [
            ("a later version", r#"{"v":2,"call":["one"]}"#, "has version 2"),
            ("no version", "{}", "cannot be read"),
            ("another form", r#"{"v":1,"call":["one"]}"#, "cannot be read"),
            ("no JSON", "", "cannot be read"),
        ] {
            status.state = Some(text.to_owned());
            let found = status.remembered();
            assert!(found.as_ref().is_err_and(|why| why.contains(expected)), "{case}: {found:?}");
        }
    }
    #[test]
    fn a_tag_can_be_deployed_once_it_is_there_and_permission_was_granted() {
        for (case, previewable, permission, tag, expected) in [
            ("granted", true, "Granted", "2", Ok(5)),
            ("granted to another client", false, "Granted", "2", Ok(5)),
            ("granted for another tag", true, "Granted", "1", Err("Sending")),
            ("pending", true, "Pending", "2", Err("Sending")),
            ("not to be requested", false, "NotRequested", "2", Err("set preview: Request there")),
        ] {
            let url = "https://example.com/kit.git";
            let state =
                serde_json::json!({"v": 1, "deployable": {"repository": {"url": url, "tag": tag}, "version": 5}});
            let object: ConnectorStaged = serde_json::from_value(serde_json::json!({
                "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit"},
                "spec": {
                    "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
                    "repository": {"url": url, "tag": "2"}, "preview": if previewable { "Request" } else { "Never" },
                },
                "status": {
                    "observedGeneration": 1, "id": "one", "preview": permission, "state": state.to_string(),
                    "conditions": [{
                        "type": "Ready", "status": "Unknown", "reason": "Updating", "message": "Sending",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }],
                },
            }))
            .expect("it is one");
            let StagedConnector { id, deployable } = object.connector();
            assert_eq!((id.as_deref(), deployable.as_ref().ok()), (Some("one"), expected.as_ref().ok()), "{case}");
            let why = deployable.err().unwrap_or_default();
            assert!(why.contains(expected.err().unwrap_or_default()), "{case}: {why}");
        }
    }
}
