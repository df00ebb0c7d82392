//! What a spec permits: every call follows an operation that was persisted for it, under a spec that allows it.
//!
//! An operation is written on the version of the resource that was read, so the spec that counts is the one in the same
//! object; an edit does not cancel a call in progress.

use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::crd::{DeletionPolicy, DriftPolicy, ManagementPolicy, RemovedValuesPolicy, UpdatePolicy};
use connect_operator::operator::deployment::persisted::{Operation, OperationState, OperationType};
use connect_operator::operator::deployment::state::shown;

use crate::prelude::*;
use crate::remote::Verb;
use crate::simulation::LIMIT;

/// An operation that was about to be sent.
#[derive(Clone, Debug)]
pub(super) struct Written {
    at: Timestamp,
    kind: OperationType,
    /// The spec had `updatePolicy: Latest`.
    pub(super) follows: bool,
}

/// Returns why the spec does not allow to begin this operation, or to send it again; `gone`: the resource had a
/// deployment, and the only reason to create it again is that it disappeared.
fn forbidden(object: &ConnectorDeployment, kind: OperationType, gone: bool) -> Option<&'static str> {
    let spec = &object.spec;
    let going = object.metadata.deletion_timestamp.is_some();
    if spec.management_policy == ManagementPolicy::ObserveOnly {
        return Some("it is ObserveOnly");
    }
    if spec.suspend {
        return Some("it is suspended");
    }
    match kind {
        OperationType::Undeploy if !going => Some("it is not being deleted"),
        OperationType::Undeploy => {
            (spec.deletion_policy_of(None) == DeletionPolicy::Orphan).then_some("its deployment must be orphaned")
        }
        _ if going => Some("it is being deleted"),
        OperationType::Recreate => {
            (spec.removed_values_policy != RemovedValuesPolicy::Recreate).then_some("removed values must be retained")
        }
        OperationType::Create if gone && spec.drift_policy != DriftPolicy::Correct => {
            Some("its deployment disappeared, and drift must not be corrected")
        }
        OperationType::Create | OperationType::Redeploy => None,
    }
}

impl Checker {
    /// Records an operation that is about to be sent.
    pub(super) fn check_written(
        &mut self,
        uid: &str,
        object: &ConnectorDeployment,
        before: &ConnectorDeploymentStatus,
        now: Timestamp,
    ) {
        let operation = object.status.as_ref().and_then(|status| shown(status).operation);
        let before_it = shown(before).operation;
        let planned = operation.filter(|operation| operation.state == OperationState::Planned);
        // Two operators may begin one in the same second, each by its own clock.
        let stamp = |of: &Operation| (of.kind, of.started_at, of.attempt);
        let Some(planned) = planned.filter(|of| before_it.as_ref().map(stamp) != Some(stamp(of))) else {
            return;
        };
        let kind = planned.kind;
        let under_way = before_it.map(|before| before.kind);
        let again = matches!(under_way, Some(OperationType::Create | OperationType::Recreate));
        if let Some(why) = forbidden(object, kind, before.id.is_some() && !again) {
            let object_ref = self.lives.get(uid).map(|life| life.object_ref.to_string()).unwrap_or_default();
            self.wrong(format!("{object_ref} is about to send {kind:?}, though {why}"));
        }
        if let Some(life) = self.lives.get_mut(uid) {
            let follows = object.spec.connector.update_policy == UpdatePolicy::Latest;
            life.written.push(Written { at: now, kind, follows });
        }
    }

    /// Returns the time since when an operation may have been written whose call arrives now.
    pub(super) fn oldest_written(&self, now: Timestamp) -> Timestamp {
        // The call leaves within the limit, by its sender's clock, and is in progress for as long.
        now.saturating_sub(2 * LIMIT + self.skew + Duration::from_secs(1)).unwrap_or(Timestamp::MIN)
    }

    /// Returns the operations that may have been persisted for a call that arrived.
    pub(super) fn written_for(&self, uid: &str, verb: &Verb, now: Timestamp) -> impl Iterator<Item = &Written> {
        let oldest = self.oldest_written(now);
        let fits = move |kind: OperationType| match verb {
            Verb::Create { .. } => kind == OperationType::Create,
            Verb::Redeploy { .. } => kind == OperationType::Redeploy,
            Verb::Undeploy { .. } => matches!(kind, OperationType::Undeploy | OperationType::Recreate),
        };
        let written = self.lives.get(uid).into_iter().flat_map(|life| life.written.iter().rev());
        written.take_while(move |written| written.at >= oldest).filter(move |written| fits(written.kind))
    }
}
