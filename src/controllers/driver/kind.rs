//! What a kind with a remote record has of its own.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use connect_api::ApiError;
use jiff::Timestamp;

use super::operations::{AppliedResponse, Call, Decision};
use crate::controllers::context::local_cache::LocalCaches;
use crate::controllers::context::{Context, Project};
use crate::controllers::kinds::managed_kind::ManagedKind;
use crate::controllers::kinds::remote_object::RemoteObject;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reconcile::Next;
use crate::controllers::references::Reference;
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::reason::Reason;
use crate::crd::shared::RemoteIdentity;

use super::{Reconciler, SentCall};

/// A decision of the table of this kind.
pub type DecisionOf<K> = Decision<
    <K as RemoteKind>::Persisted,
    <K as RemoteObject>::Transient,
    <K as RemoteKind>::CallKind,
    <K as RemoteKind>::Outcome,
>;

/// What the response of this kind comes to.
pub type AppliedOf<K> = AppliedResponse<<K as RemoteKind>::Persisted, <K as RemoteObject>::Transient>;

/// What came back from a call of this kind.
pub type CallResult<K> =
    crate::controllers::driver::operations::CallResult<<K as RemoteKind>::Accepted, <K as RemoteKind>::Record>;

/// A kind with a remote record: how its reconcile differs from that of others.
pub trait RemoteKind: RemoteObject + ManagedKind {
    /// What the decision table keeps over restarts: the status, converted.
    type Persisted: Clone + Default + Send + Sync;
    /// What the decision table can call.
    type CallKind: Clone + Send + Sync;
    /// What the decision table reports.
    type Outcome: Send + Sync;
    /// What an accepted call shows of the record.
    type Accepted: Send + Sync;
    /// The record of the Connect API.
    type Record: Send + Sync;
    /// What identifies the record.
    type Identity: Send + Sync;
    /// What has to be known before the remote is asked.
    type Target: Send + Sync;
    /// What one observation yields.
    type Observed: Send + Sync;
    /// What a status has beside conditions, persisted state and record.
    type Details: Clone + Default + Send + Sync;

    /// Reads what the decision table keeps from a status.
    ///
    /// # Errors
    /// The condition for a status that cannot be read: nothing may be concluded from it.
    fn read_status(status: &Self::Status) -> Result<Self::Persisted, ConditionUpdate>;
    /// Whether the record stays when the resource is deleted.
    fn is_orphaned(&self, context: &Context) -> bool;
    /// What identifies the record in this project.
    fn identity(&self, project: &Project) -> Self::Identity;
    /// The remote project of an identity.
    fn remote_identity(identity: &Self::Identity) -> &RemoteIdentity;
    /// The identity that was observed.
    fn identity_of(observed: &Self::Observed) -> &Self::Identity;
    /// The record that was observed, as far as a status shows it when a call is about to be sent.
    fn record(observed: &Self::Observed) -> ObservedRecord<'_, Self::Record>;
    /// Id of the record.
    fn id(persisted: &Self::Persisted) -> Option<&str>;
    /// Whether the call creates a record under the key.
    fn creates(call: &Self::CallKind) -> bool;
    /// Whether the call deletes the record because the resource is being deleted.
    fn deletes(call: &Self::CallKind) -> bool;
    /// Whether the table remembers a rejection.
    fn is_refused(transient: &Self::Transient) -> bool;
    /// Forgets a rejection.
    fn forget_refusal(transient: &mut Self::Transient);
    /// What is kept between the reconciles of this kind.
    fn caches(context: &Context) -> &LocalCaches<Self>;
    /// Forgets what else is kept of a resource that is gone.
    fn forget(context: &Context, object_ref: &ObjectRef);

    /// Whether the resource was last found to wait for more than its project.
    fn is_waiting(context: &Context, object_ref: &ObjectRef) -> bool;
    /// The objects beside the project that enqueue this resource.
    fn references(object: &Self, waits: bool) -> BTreeSet<Reference>;

    /// Finds what has to be known before the remote is asked.
    fn target(reconciler: &mut Reconciler<'_, Self>) -> impl Future<Output = Result<Self::Target, Unready>> + Send;

    /// Reads the remote, and what the decision needs of the cluster.
    ///
    /// # Errors
    /// Those of the API server.
    fn observe(
        reconciler: &mut Reconciler<'_, Self>,
        remote: &Arc<Remote>,
        identity: Self::Identity,
        target: Self::Target,
    ) -> impl Future<Output = Result<Observing<Self>, kube::Error>> + Send;

    /// Asks the decision table.
    ///
    /// # Errors
    /// Those of the API server.
    fn decide(
        reconciler: &mut Reconciler<'_, Self>,
        remote: &Arc<Remote>,
        observed: &mut Self::Observed,
    ) -> impl Future<Output = Result<Decided<Self>, kube::Error>> + Send;

    /// Reports a decision that sends nothing, and says when to go on.
    ///
    /// # Errors
    /// Those of the API server.
    fn no_op(
        reconciler: &mut Reconciler<'_, Self>,
        remote: &Arc<Remote>,
        observed: &mut Self::Observed,
        decision: &DecisionOf<Self>,
    ) -> impl Future<Output = Result<Next, kube::Error>> + Send;

    /// Sends the one call of a decision, whose operation is persisted.
    fn call(
        reconciler: &mut Reconciler<'_, Self>,
        remote: &Arc<Remote>,
        observed: &Self::Observed,
        call: &Call<Self::CallKind>,
        decision: &DecisionOf<Self>,
        operation: PersistedOperation,
    ) -> impl Future<Output = (CallResult<Self>, AppliedOf<Self>)> + Send;

    /// When to go on after a response.
    fn after_response(
        reconciler: &mut Reconciler<'_, Self>,
        remote: &Arc<Remote>,
        result: &CallResult<Self>,
        applied: &AppliedOf<Self>,
    ) -> Duration;

    /// The condition while a call is about to be sent.
    fn begun_condition(
        reconciler: &Reconciler<'_, Self>,
        observed: &Self::Observed,
        decision: &DecisionOf<Self>,
    ) -> ConditionUpdate;

    /// Describes a call, with the record before it and the one in its response.
    fn sent_call(
        reconciler: &Reconciler<'_, Self>,
        observed: &Self::Observed,
        call: &Self::CallKind,
        result: &CallResult<Self>,
    ) -> SentCall;

    /// The condition after a response. `key_taken`: the key turned out to belong to somebody else.
    fn response_condition(
        reconciler: &Reconciler<'_, Self>,
        observed: &Self::Observed,
        call: &Self::CallKind,
        result: &CallResult<Self>,
        key_taken: bool,
    ) -> ConditionUpdate;

    /// The new status, from the one before.
    fn summarize(reconciler: &Reconciler<'_, Self>, inputs: StatusInputs<'_, Self>) -> Self::Status;

    /// Takes note of a status that was written from an observation.
    fn note_written(reconciler: &Reconciler<'_, Self>, observed: &Self::Observed, persisted: &Self::Persisted);

    /// Takes note of a condition that was written without an observation.
    fn note_reported(reconciler: &Reconciler<'_, Self>, condition: &ConditionUpdate);

    /// Whether an outage changes nothing for the resource: what is wanted is what was applied (rule 20).
    ///
    /// # Errors
    /// Those of the API server.
    fn is_settled(reconciler: &Reconciler<'_, Self>) -> impl Future<Output = Result<bool, kube::Error>> + Send;

    /// Note of the Event for a record that took the place of another one; `None`: nothing changes for users.
    fn replacement_note(before: &str, id: &str) -> Option<String>;

    /// Reason and note of the Event for a record that was deleted; `None`: it was left as it is.
    fn deletion_event(persisted: &Self::Persisted) -> Option<(EventReason, &'static str)>;
}

/// Why a reconcile ends before the remote is asked.
#[derive(Debug)]
pub enum Unready {
    /// A user has to act.
    Report(ConditionUpdate),
    /// The controller of another resource has not reconciled it yet.
    NotYet,
}

/// How an observation ended.
pub enum Observing<K: RemoteKind> {
    /// With this.
    Done(K::Observed),
    /// A poll is under way, and enqueues the resource.
    Pending,
    /// A poll is under way, and enqueues the resource; it fails again and again with this error of the Connect API.
    Failing(K::Identity, ApiError),
    /// With an error of the Connect API.
    Failed(K::Identity, ApiError),
}

impl<K: RemoteKind> Observing<K> {
    /// A poll is under way. `error`: why it fails again and again.
    #[must_use]
    pub fn pending(identity: K::Identity, error: Option<ApiError>) -> Self {
        error.map_or(Self::Pending, |error| Self::Failing(identity, error))
    }
}

/// How asking the decision table ended.
pub enum Decided<K: RemoteKind> {
    /// With a decision.
    Decision(DecisionOf<K>),
    /// Something stands in the way, which is reported.
    Ended(Next),
}

/// The record of the Connect API, as one reconcile saw it.
#[derive(Debug)]
pub enum ObservedRecord<'a, R> {
    /// It was not read.
    NotRead,
    /// There is none.
    Absent,
    /// This one.
    Present(&'a R),
}

impl<R> Clone for ObservedRecord<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ObservedRecord<'_, R> {}

impl<'a, R> ObservedRecord<'a, R> {
    /// A record that was read, or its absence.
    #[must_use]
    pub fn of(record: Option<&'a R>) -> Self {
        record.map_or(Self::Absent, Self::Present)
    }
}

/// What a status is made of.
pub struct StatusInputs<'a, K: RemoteKind> {
    /// What identifies the record; `None`: the project is not known.
    pub identity: Option<&'a K::Identity>,
    /// What was observed; `None`: the reconcile ended before.
    pub observed: Option<&'a K::Observed>,
    /// What the decision table keeps.
    pub persisted: &'a K::Persisted,
    /// The Ready condition.
    pub condition: &'a ConditionUpdate,
    /// The record.
    pub record: ObservedRecord<'a, K::Record>,
    /// What only this kind reports.
    pub details: K::Details,
    /// The reconcile request that this reconcile served.
    pub handled_reconcile_request: Option<String>,
}

/// Proof that the API server stored an operation: what a call takes, so that none is sent without (rule 1).
#[derive(Debug)]
pub struct PersistedOperation {
    started_at: Timestamp,
}

impl PersistedOperation {
    /// The operation in `stored`, an object as the API server returned it; `None`: it has none.
    #[must_use]
    pub fn of<K: RemoteKind>(stored: &K) -> Option<Self> {
        let operation = stored.status().and_then(K::operation)?;
        Some(Self { started_at: K::started_at(&operation) })
    }

    /// When the call was about to be sent. It leaves within [`LIMIT`](crate::controllers::driver::operations::LIMIT) of that.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }
}

/// Reports a project that was changed under a record: the record is in another project (rule 2). `now`: the project that
/// the `ConnectProject` names.
#[must_use]
pub fn identity_changed<K: ManagedKind>(object: &K, now: &RemoteIdentity) -> Option<ConditionUpdate> {
    let claim = object.claim()?;
    let before = claim.remote.filter(|before| (claim.id.is_some() || claim.operation) && before != now)?;
    let message = format!(
        "This {} was created in project {} at {}, and the ConnectProject now names project {} at {}: set it back",
        K::KIND.as_str(),
        before.project_key,
        before.api_url,
        now.project_key,
        now.api_url
    );
    Some(ConditionUpdate::new(Reason::IdentityChanged, message))
}
