//! What a create sends (rules 1, 11 and 15). Pure.

use super::super::persisted::OperationType;
use super::input::serve;
use super::{CallKind, Decision, Input, Outcome};

/// Rule 1. The key was looked up and is free; `act` looks it up once more before the POST.
pub(super) fn create(input: &Input<'_>) -> Decision {
    let Some(wanted) = input.wanted else { return input.no_op(Outcome::ValuesUnknown, None) };
    if let Some(other) = other_version(input) {
        return input.no_op(other, None);
    }
    let mut persisted = input.persisted.clone();
    // The create also serves a redeploy request that already exists (rule 11).
    serve(&mut persisted, input.intent.redeploy_request.as_ref());
    let operation = input.operation(OperationType::Create, Some(wanted));
    input.send(persisted, operation, CallKind::Create, input.cause(wanted))
}

/// Rule 15: a create deploys the latest version. Returns an outcome if the spec asks for another one.
pub(super) fn other_version(input: &Input<'_>) -> Option<Outcome> {
    let version = &input.intent.version;
    let (wanted, latest) = version.wanted.zip(version.latest).filter(|(wanted, latest)| wanted != latest)?;
    Some(Outcome::VersionUnavailable { wanted, latest: Some(latest), drifted: false })
}
