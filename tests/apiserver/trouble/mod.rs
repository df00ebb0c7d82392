//! Bad input and trouble: what goes wrong, one after the other, and that all comes right again.

mod away;
mod canary;
mod cluster;
mod faults;
mod many;
mod missing;
mod namespaces;
mod outage;
pub(crate) mod pace;
mod panics;
mod preflight;
mod projects;
mod refused;
mod relists;
mod scopes;
mod slow;
mod stalled;
mod values;
mod webhook;

use connect_operator::crd::ConnectorDeployment;

/// Status of a condition; `None` if there is no such condition.
fn condition<'a>(object: &'a ConnectorDeployment, kind: &str) -> Option<&'a str> {
    let conditions = &object.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == kind).map(|condition| condition.status.as_str())
}
