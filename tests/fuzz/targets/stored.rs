//! What is read back from the cluster: the status, and the digests in it. A user who may edit a status may write
//! anything.

use connect_operator::controllers::connector_deployment::status_conversion::{persisted, store};
use connect_operator::controllers::values::digest::{Comparison, Digest};
use connect_operator::crd::ConnectProjectStatus;
use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// Earlier times cannot be written in RFC 3339, and the API server rejects them; in seconds of Unix time.
const YEAR_ZERO: i64 = -62_167_219_200;

/// A status in JSON: the persisted state survives encoding and decoding.
pub(crate) fn status(data: &[u8]) {
    let _ = serde_json::from_slice::<ConnectProjectStatus>(data);
    let Ok(status) = serde_json::from_slice::<ConnectorDeploymentStatus>(data) else { return };
    let state = persisted(&status);
    let times =
        [status.applied.as_ref().and_then(|it| it.at.as_ref()), status.operation.as_ref().map(|it| &it.started_at)];
    if times.into_iter().flatten().any(|time| time.0.as_second() < YEAR_ZERO) {
        return;
    }
    let mut written = status.clone();
    store(&mut written, &state);
    let text = serde_json::to_vec(&written).expect("a status can be encoded");
    let read: ConnectorDeploymentStatus = serde_json::from_slice(&text).expect("an encoded status can be decoded");
    let again = persisted(&read);
    let mut twice = read.clone();
    store(&mut twice, &again);
    assert_eq!(twice, read, "a stored status does not change when it is stored again");
    assert_eq!((&again.id, &again.handled_redeploy), (&state.id, &state.handled_redeploy));
    assert_eq!(
        again.operation.map(|it| (it.kind, it.state, it.attempt)),
        state.operation.map(|it| (it.kind, it.state, it.attempt))
    );
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
