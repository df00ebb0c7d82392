//! The parts of a reconcile that only a `ConnectorDeployment` has; [`driver`](crate::controllers::driver) has the rest.
//!
//! - `target`: which connector is deployed;
//! - `inputs`: what a decision needs; `registered`: what prevents a decision from being carried out;
//! - `execute`: no-ops, calls and what follows them;
//! - `report`, `verify`: the content of the status.

mod execute;
mod inputs;
mod registered;
mod report;
mod target;
mod verify;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use connect_api::mask::Masker;
use connect_api::model::Deployment as Record;

use self::registered::Obstacle;
use super::act::Done;
use super::decide::{self, Call, CallKind, Decision, DesiredPayload, Input, Intent, Outcome, Step, TransientState};
use super::declared::Declared;
use super::desired::Desired;
use super::intent::{self, Target};
use super::observe::{self, RecordRead};
use super::persisted::{OperationType, PersistedState};
use super::registered::Registered;
use super::status::{Comparison, DesiredIdentity};
use super::{act, state, status, value_from};
use crate::controllers::context::local_cache::LocalCaches;
use crate::controllers::context::{Context, Project};
use crate::controllers::driver::{
    Decided, ObservedRecord, Observing, PersistedOperation, Reconciler, RemoteKind, SentCall, StatusInputs, Unready,
    Versions,
};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reconcile::Next;
use crate::controllers::references::{Named, Reference};
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorDeployment, ConnectorDeploymentSpec, DeletionPolicy, ManagementPolicy};

type Deployment<'a> = Reconciler<'a, ConnectorDeployment>;

/// What a decision is made from.
pub struct Inputs {
    wanted: DesiredIdentity,
    /// What the registry has about the connector.
    registered: Registered,
    desired: Result<Desired, ConditionUpdate>,
    payload: Option<DesiredPayload>,
    masker: Masker,
    target: Option<Target>,
    /// The declarations of the version that will run: the current one, or the one to which a redeploy is about to move.
    /// `None`: not known.
    declared: Option<Declared>,
    read: RecordRead,
    /// The condition of the resources in `spec.verify`; `None`: they were not looked up.
    verified: Option<ConditionUpdate>,
}

impl Inputs {
    fn record(&self) -> Option<&Record> {
        self.read.record.as_deref()
    }
}

impl RemoteKind for ConnectorDeployment {
    type Persisted = PersistedState;
    type CallKind = CallKind;
    type Outcome = Outcome;
    type Accepted = decide::Accepted;
    type Record = Record;
    type Identity = DesiredIdentity;
    type Target = Option<Target>;
    type Observed = Inputs;
    type Details = Comparison;

    fn read_status(status: &ConnectorDeploymentStatus) -> Result<PersistedState, ConditionUpdate> {
        state::read(status)
    }

    fn is_orphaned(&self, context: &Context) -> bool {
        intent::deletion(self, context.default_deletion_policy) == Some(DeletionPolicy::Orphan)
    }

    fn identity(&self, project: &Project) -> DesiredIdentity {
        intent::desired_identity(self, project)
    }

    fn remote_identity(identity: &DesiredIdentity) -> &RemoteIdentity {
        &identity.remote
    }

    fn identity_of(inputs: &Inputs) -> &DesiredIdentity {
        &inputs.wanted
    }

    /// What was read before a call does not describe the deployment after it, so it is not shown.
    fn record(_: &Inputs) -> ObservedRecord<'_, Record> {
        ObservedRecord::NotRead
    }

    fn id(persisted: &PersistedState) -> Option<&str> {
        persisted.id.as_deref()
    }

    fn creates(call: &CallKind) -> bool {
        matches!(call, CallKind::Create { .. })
    }

    fn deletes(call: &CallKind) -> bool {
        matches!(call, CallKind::Undeploy { .. })
    }

    fn is_refused(transient: &TransientState) -> bool {
        transient.refused.is_some()
    }

    fn forget_refusal(transient: &mut TransientState) {
        transient.refused = None;
    }

    fn caches(context: &Context) -> &LocalCaches<Self> {
        &context.deployment_caches
    }

    fn forget(_: &Context, _: &ObjectRef) {}

    fn is_waiting(_: &Context, _: &ObjectRef) -> bool {
        false
    }

    fn references(object: &Self, _: bool) -> BTreeSet<Reference> {
        let spec = &object.spec;
        let mut named = BTreeSet::new();
        if spec.management_policy == ManagementPolicy::Full {
            named = value_from::references(spec);
            named.extend(spec.outputs.iter().map(|outputs| (Named::ConfigMap, outputs.config_map.name.clone())));
        }
        let verifies = spec.verify.iter().filter_map(|verify| verify.credentials_ref.as_ref());
        named.extend(verifies.map(|reference| (Named::Secret, reference.name.clone())));
        named.extend(spec.connector.staged_ref.iter().map(|reference| (Named::Staged, reference.name.clone())));
        named
    }

    async fn target(reconciler: &mut Deployment<'_>) -> Result<Option<Target>, Unready> {
        reconciler.find_target().await
    }

    async fn observe(
        reconciler: &mut Deployment<'_>,
        remote: &Arc<Remote>,
        identity: DesiredIdentity,
        target: Option<Target>,
    ) -> Result<Observing<Self>, kube::Error> {
        let persisted = reconciler.persisted();
        let (context, object_ref) = (reconciler.context, reconciler.object_ref);
        reconciler.cache.transient.meet(&persisted, context.clock.now());
        // Before the record: a polled record can be taken only once.
        let Some(registered) = reconciler.registered(remote, target.as_ref()) else { return Ok(Observing::Pending) };
        let api = remote.api();
        let cache = &reconciler.cache;
        let read = observe::read_remote(context, remote, &api, object_ref, &identity.key, &persisted, cache).await;
        let read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(Observing::pending(identity, remote.read_error(object_ref))),
            Err(error) => return Ok(Observing::Failed(identity, error)),
        };
        reconciler.cache.own.last_observation = Some(read.at);
        Ok(Observing::Done(reconciler.inputs(identity, target, registered, read).await?))
    }

    async fn decide(
        reconciler: &mut Deployment<'_>,
        remote: &Arc<Remote>,
        inputs: &mut Inputs,
    ) -> Result<Decided<Self>, kube::Error> {
        let observation = observe::observation(&inputs.read, &intent::ignored(&reconciler.object));
        let target = inputs.target.as_ref();
        let latest = inputs.registered.latest();
        let intent = intent::intent(&reconciler.object, &inputs.wanted, target, latest);
        let intent = Intent { deletion: reconciler.deletion(), ..intent };
        let persisted = reconciler.persisted();
        let digests = reconciler.digests();
        let now = reconciler.context.clock.now();
        let decide = |transient: &TransientState, wanted: Option<&DesiredPayload>| {
            decide::decide(&Input {
                persisted: &persisted,
                intent: &intent,
                wanted,
                observation: &observation,
                transient,
                digests: &digests,
                now,
            })
        };
        let mut decision = decide(&reconciler.cache.transient, inputs.payload.as_ref());
        match reconciler.obstacle(remote, inputs, &decision) {
            Obstacle::None => {}
            Obstacle::Doubt => return Ok(Decided::Ended(Next::Again(None))),
            Obstacle::Changed => return Ok(Decided::Ended(Next::Again(Some(Duration::ZERO)))),
            // Decides again as if the values were not known, since they may not be sent.
            Obstacle::Report(condition) => {
                decision = decide(&reconciler.cache.transient, None);
                if matches!(decision.step, Step::Send(_)) {
                    return reconciler.withhold(remote, inputs, &decision, condition).await.map(Decided::Ended);
                }
                inputs.desired = Err(condition);
            }
        }
        Ok(Decided::Decision(decision))
    }

    async fn no_op(
        reconciler: &mut Deployment<'_>,
        remote: &Arc<Remote>,
        inputs: &mut Inputs,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        reconciler.report_no_op(remote, inputs, decision).await
    }

    async fn call(
        reconciler: &mut Deployment<'_>,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: &Call,
        decision: &Decision,
        operation: PersistedOperation,
    ) -> (Done, decide::AppliedResponse) {
        reconciler.send(remote, inputs, call, decision, operation).await
    }

    fn after_response(
        reconciler: &mut Deployment<'_>,
        remote: &Arc<Remote>,
        done: &Done,
        applied: &decide::AppliedResponse,
    ) -> Duration {
        reconciler.requeue_after(remote, done, applied)
    }

    fn begun_condition(_: &Deployment<'_>, inputs: &Inputs, decision: &Decision) -> ConditionUpdate {
        status::ready_condition(&decision.outcome, &inputs.wanted.key, None, &[])
    }

    fn sent_call(_: &Deployment<'_>, inputs: &Inputs, call: &CallKind, done: &Done) -> SentCall {
        let versions = |record: &Record| Versions { record: record.version, connector: Some(record.connector.version) };
        SentCall {
            operation: match call {
                CallKind::Create { .. } => "create",
                CallKind::Redeploy { .. } => "redeploy",
                CallKind::Undeploy { .. } | CallKind::Recreate { .. } => "undeploy",
            },
            record: "deployment",
            key: inputs.wanted.key.clone(),
            before: inputs.record().map(versions),
            after: done.record.as_ref().map(versions),
        }
    }

    fn response_condition(
        _: &Deployment<'_>,
        inputs: &Inputs,
        call: &CallKind,
        done: &Done,
        key_taken: bool,
    ) -> ConditionUpdate {
        let outcome = if key_taken { Outcome::KeyTaken } else { Outcome::Running(call.operation()) };
        let suspects = super::registered::suspects(call, inputs.registered.generates_api_client());
        act::condition(done, &suspects, &inputs.wanted.remote.project_key)
            .filter(|_| !key_taken)
            .unwrap_or_else(|| status::ready_condition(&outcome, &inputs.wanted.key, done.record.as_ref(), &[]))
    }

    fn summarize(reconciler: &Deployment<'_>, inputs: StatusInputs<'_, Self>) -> ConnectorDeploymentStatus {
        reconciler.summarize_status(inputs)
    }

    fn note_written(_: &Deployment<'_>, _: &Inputs, _: &PersistedState) {}

    fn note_reported(_: &Deployment<'_>, _: &ConditionUpdate) {}

    async fn is_settled(reconciler: &Deployment<'_>) -> Result<bool, kube::Error> {
        let status = reconciler.status();
        let observed = status.observed_generation == reconciler.generation();
        Ok(observed && report::reports_an_end(&status) && reconciler.is_applied().await?)
    }

    fn replacement_note(before: &str, id: &str) -> Option<String> {
        Some(format!("The remote deployment is {id} now, in place of {before}: its URLs have changed"))
    }

    fn deletion_event(persisted: &PersistedState) -> Option<(EventReason, &'static str)> {
        let operation = persisted.operation.as_ref();
        let undeployed = operation.is_some_and(|operation| operation.kind == OperationType::Undeploy);
        undeployed.then_some((EventReason::Undeployed, "The remote deployment is gone"))
    }
}

/// Whether values come from whole objects, so that the declarations of the connector decide which keys are sent.
fn names_whole_objects(spec: &ConnectorDeploymentSpec) -> bool {
    let all = spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration);
    all.into_iter()
        .any(|values| !values.standard_configuration_from.is_empty() || !values.secured_configuration_from.is_empty())
}
