//! What is remembered of a call before it is sent, and after its response. Pure.

use jiff::Timestamp;

use super::intent::Intent;
use super::observed::{Observed, Permission};
use super::state::{CallKind, RequestedPreview, SentContent, StagedCall, State};

/// What the response to a call means for the change that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Accepted; the record in the response.
    Accepted(Observed),
    /// Nothing happened, and the input has to change; of an update with several actions some may have been taken
    /// (contract section 6).
    Refused,
    /// Nothing happened, and the same call may work soon: busy, throttled, not sent.
    NotTaken,
    /// The record does not exist.
    Gone,
    /// The change may have happened.
    Unknown,
}

/// Returns the state to persist before a call. `state`: what is known by then; `record`: what was read.
pub fn begin(state: &State, kind: CallKind, intent: &Intent, record: Option<&Observed>, now: Timestamp) -> State {
    let mut state = state.clone();
    match kind {
        // Which tag the record shows, and since which version, is known with the response.
        CallKind::Preview => (state.preview, state.deployable) = (None, None),
        CallKind::Publish => state.publication = None,
        CallKind::Create | CallKind::Update | CallKind::Delete => {}
    }
    if kind != CallKind::Delete && intent.request.is_some() {
        state.handled_request.clone_from(&intent.request);
    }
    let from = record.filter(|_| kind != CallKind::Delete).map(|record| record.version);
    state.call = Some(StagedCall { kind, at: now, from, digest: digest(kind, intent), open: true });
    state
}

/// Returns the state after the response to a call. `before`: the state without it; `begun`: the one that was persisted.
pub fn after(before: &State, begun: &State, tag: &str, response: &Response) -> State {
    let mut state = begun.clone();
    let Some(call) = &mut state.call else { return state };
    match (response, call.kind) {
        (Response::Unknown, _) => {}
        (Response::Gone, CallKind::Delete) => call.open = false,
        // Nothing happened. What is known of the call before it stays: that one may still arrive.
        (Response::Refused | Response::NotTaken | Response::Gone, _) => {
            return State { handled_request: begun.handled_request.clone(), ..before.clone() };
        }
        (Response::Accepted(record), kind) => {
            call.open = false;
            match kind {
                CallKind::Create | CallKind::Update => {
                    state.sent = Some(SentContent { digest: call.digest.clone(), shown: record.digest.clone() });
                    state.id = Some(record.id.clone());
                    // Whatever was published, by this resource or meanwhile by another client, has other content.
                    state.publication = None;
                }
                CallKind::Preview => {
                    let shown = record.permission == Permission::Pending;
                    state.preview = Some(RequestedPreview { tag: tag.to_owned(), shown });
                }
                CallKind::Publish => state.publication = Some(call.digest.clone()),
                CallKind::Delete => {}
            }
        }
    }
    state
}

/// Returns what a call is sent for: one that was refused is not repeated in a loop for the same cause. Another version
/// of the record may accept it.
pub fn cause(kind: CallKind, intent: &Intent, record: Option<&Observed>) -> String {
    let version = record.map(|record| record.version);
    format!("{kind:?} {} {} {version:?} {:?}", digest(kind, intent), intent.generation, intent.request)
}

/// Returns the digest of what a call sends.
pub(super) fn digest(kind: CallKind, intent: &Intent) -> String {
    match kind {
        CallKind::Create | CallKind::Update | CallKind::Preview => intent.digest.clone(),
        CallKind::Publish => intent.publication.clone().unwrap_or_default(),
        CallKind::Delete => String::new(),
    }
}
