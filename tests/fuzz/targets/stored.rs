//! What is read back from the cluster: the status, and the digests in it. A user who may edit a status may write
//! anything.

use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::crd::{ActionCheckStatus, ConnectProjectStatus, ConnectorStagedStatus};
use connect_operator::operator::deployment::state;
use connect_operator::operator::values::digest::{Comparison, Digest};

/// A status in JSON: a state that can be read survives decoding and encoding.
pub(crate) fn status(data: &[u8]) {
    let _ = serde_json::from_slice::<ConnectProjectStatus>(data);
    state(data);
    let Ok(status) = serde_json::from_slice::<ConnectorDeploymentStatus>(data) else { return };
    let Ok(state) = state::read(&status) else { return };
    let mut written = status.clone();
    state::write(&mut written, &state);
    let text = serde_json::to_vec(&written).expect("a status can be encoded");
    let read: ConnectorDeploymentStatus = serde_json::from_slice(&text).expect("an encoded status can be decoded");
    assert_eq!(state::read(&read).expect("it was written"), state);
}

/// A state of a staged connector or of a check: what can be read is read again as it was written.
fn state(data: &[u8]) {
    let text = std::str::from_utf8(data).ok().map(str::to_owned);
    let mut check = ActionCheckStatus { state: text.clone(), ..ActionCheckStatus::default() };
    if let Ok(Some(last)) = check.last_call() {
        check.remember(&last);
        assert_eq!(check.last_call(), Ok(Some(last)));
    }
    let mut status = ConnectorStagedStatus { state: text, ..ConnectorStagedStatus::default() };
    if let Ok(state) = status.remembered() {
        status.remember(&state);
        assert_eq!(status.remembered(), Ok(state));
    }
}

/// Two digests, one on each line.
pub(crate) fn digests(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (one, other) = text.split_once('\n').unwrap_or((text, text));
    let (first, second) = (Digest::parse(one), Digest::parse(other));
    assert_eq!(Digest::parse(&first.to_string()), first);
    assert_eq!(first.compare(&first), Comparison::Same);
    assert_eq!(first.compare(&second), second.compare(&first));
    assert_eq!(first.compare(&second) == Comparison::Same, first == second);
}
