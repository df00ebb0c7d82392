//! Carries out a decision: reports it, sends its one call, or removes the finalizer.

use std::time::Duration;

use clock::later;
use connect_api::registry::StagedApi;
use connect_api::scopes::Right;
use connect_api::{ConnectApi, ErrorCode};
use jiff::Timestamp;
use kube::runtime::events::EventType;

use super::act::{self, Answer};
use super::decide::{self, Call, Decision, Input, LIMIT, Outcome, Response, Step};
use super::desired;
use super::observed::Observed;
use super::reconcile::{Read, Reconciler};
use super::state::{CallKind, State};
use super::status;
use crate::controllers::context::{OTHER_SHARD_AGAIN, StagedConnector};
use crate::controllers::queue::backoff::KubernetesErrorBackoff;
use crate::controllers::reconcile::Next;
use crate::controllers::reconcile::record::report_left_behind;
use crate::controllers::references::Named;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::refusal;

/// Shortest pause between two looks that find nothing to send: each is a call.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);
/// Pause before the look that follows a response.
const AFTER_RESPONSE: Duration = Duration::from_secs(1);
/// First pause before a refused call is sent again without any change; doubles.
const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);

impl Reconciler<'_> {
    pub(super) async fn execute(
        &mut self,
        api: &(impl ConnectApi + StagedApi),
        read: &Read,
        input: &Input<'_>,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        match decision.step {
            Step::Release => {
                let call = decision.state.call.as_ref();
                self.remove_finalizer(call.is_some_and(|call| call.kind == CallKind::Delete)).await
            }
            Step::Report(outcome, again) => self.report(read, input.record, decision, (outcome, again)).await,
            // Boxed: most reconciles send nothing.
            Step::Send(call) => Box::pin(self.send(api, read, input, &decision, call)).await,
        }
    }

    /// Reports an outcome, and says when to look again.
    async fn report(
        &mut self,
        read: &Read,
        observed: Option<&Observed>,
        decision: Decision,
        (outcome, again): (Outcome, Option<Duration>),
    ) -> Result<Next, kube::Error> {
        let condition = self.condition(outcome, read);
        self.write(Some(&decision.state), condition, Some(&read.identity), ObservedRecord::of(read.record.as_ref()))
            .await?;
        // Only after the write: what a decision forgets is still needed if it could not be written.
        self.memory.of_decision = decision.memory;
        self.memory.backoff.worked();
        self.memory.kubernetes_error_backoff = KubernetesErrorBackoff::default();
        self.annotate(&decision.state).await?;
        self.note_result(&decision.state, observed);
        let mut interval = self.interval();
        if outcome == Outcome::AwaitingProof && self.context.scope.is_shard() {
            // Another install may reconcile the objects that it waits for, and does not enqueue this resource.
            interval = interval.min(OTHER_SHARD_AGAIN);
        }
        Ok(Next::Again(Some(again.map_or(interval, |again| again.max(SHORTEST_PAUSE).min(interval)))))
    }

    fn condition(&self, outcome: Outcome, read: &Read) -> ConditionUpdate {
        let refusal = self.memory.refusal.clone().filter(|_| outcome == Outcome::Refused);
        refusal.unwrap_or_else(|| {
            let (spec, record) = (&self.object.spec, read.record.as_ref());
            let impossible = record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
            let details = if read.unproven.is_empty() { &impossible } else { &read.unproven };
            status::ready_condition(outcome, &spec.key, record, details)
        })
    }

    /// Persists what is about to be sent, sends it, and records what came of it. If the object was changed since it was
    /// read, nothing is sent.
    async fn send(
        &mut self,
        api: &(impl ConnectApi + StagedApi),
        read: &Read,
        input: &Input<'_>,
        decision: &Decision,
        call: Call,
    ) -> Result<Next, kube::Error> {
        if let Err(error) = self.add_finalizer().await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let now = self.context.clock.now();
        let begun = decide::begin(decision, call, input, now);
        let Some(sent) = &begun.call else { return Ok(Next::Again(None)) };
        let condition = self.condition(Outcome::Running(call.kind), read);
        let reason = condition.reason;
        let seen = ObservedRecord::answered(read.record.as_ref());
        self.write(Some(&begun), condition, Some(&read.identity), seen).await?;
        self.memory.of_decision = decision.memory.clone();
        self.note_result(&begun, input.record);

        let (spec, send_before) = (&self.object.spec, later(now, LIMIT));
        let id = begun.id.as_deref();
        let answer = act::send(api, spec, (call, sent), read.record.as_ref(), id, send_before).await;
        let after = decide::after(&decision.state, &begun, &input.intent.tag, &answer.response);
        let condition = self.response_condition(&answer, call.kind, read);
        let pause = self.note_answer(&answer, &condition, decide::cause(call.kind, input.intent, input.record));
        let seen = ObservedRecord::answered(answer.record.as_ref());
        let is_there = self.record(&after, condition, &read.identity, seen).await?;
        self.report_sent(&answer, call.kind, reason.into(), read);
        if !is_there {
            let created = after.call.as_ref().filter(|call| call.kind == CallKind::Create).and(after.id.as_ref());
            if let Some(id) = created {
                report_left_behind(self.context, &self.object, id);
            }
            return Ok(Next::Gone);
        }
        Ok(Next::Again(Some(pause)))
    }

    fn response_condition(&self, answer: &Answer, kind: CallKind, read: &Read) -> ConditionUpdate {
        let project = &read.identity.project_key;
        let failed = answer.error.as_ref().and_then(|error| {
            let exists = error.code() == Some(&ErrorCode::DuplicateField) && kind == CallKind::Create;
            problem::condition_of_call(error, exists, &[Right::ManageConnectors], project)
        });
        failed.unwrap_or_else(|| {
            let (key, record) = (&self.object.spec.key, answer.record.as_ref().or(read.record.as_ref()));
            status::ready_condition(Outcome::Running(kind), key, record, &[])
        })
    }

    /// Remembers what an answer means for later calls; returns the pause before the next look.
    fn note_answer(&mut self, answer: &Answer, condition: &ConditionUpdate, cause: String) -> Duration {
        let now = self.context.clock.now();
        let refused = self.memory.of_decision.refused.take();
        match (&answer.response, &answer.error) {
            (Response::Refused, _) => {
                let is_again = refused.is_some_and(|(before, _)| before == cause);
                self.memory.refusals = if is_again { self.memory.refusals.saturating_add(1) } else { 1 };
                let doubled = REFUSED_AGAIN.saturating_mul(1 << (self.memory.refusals - 1).min(8));
                let pause = doubled.min(REFUSED_AGAIN_AT_MOST);
                self.memory.of_decision.refused = Some((cause, later(now, pause)));
                self.memory.refusal = Some(condition.clone());
                pause.min(self.interval())
            }
            (Response::Unknown | Response::NotTaken | Response::Gone, Some(error)) => self.pause(error),
            (Response::Accepted(_) | Response::Unknown | Response::NotTaken | Response::Gone, _) => {
                self.memory.backoff.worked();
                AFTER_RESPONSE
            }
        }
    }

    /// Pauses the calls of this resource, longer with each failure; returns for how long.
    pub(super) fn pause(&mut self, error: &connect_api::ApiError) -> Duration {
        let (asked, now) = (self.asked_for(), self.context.clock.now());
        self.memory.backoff.failed(asked, error, Duration::ZERO, now)
    }

    /// Reports a call that was sent, unless the service refused it. What begins or ends a record is reported with its
    /// outcome.
    fn report_sent(&self, answer: &Answer, kind: CallKind, reason: EventReason, read: &Read) {
        let lost = match (&answer.response, &answer.error) {
            (Response::Accepted(_), _) => "",
            (Response::Unknown, Some(_)) => "; no usable response arrived, so the operator looks for the result",
            _ => return,
        };
        let what = match kind {
            CallKind::Create => "create",
            CallKind::Update => "update",
            CallKind::Preview => "preview request",
            CallKind::Publish => "publication",
            CallKind::Delete => "delete",
        };
        let versions = read.record.as_ref().map(|before| {
            let after = answer.record.as_ref().map(|after| format!(" → {}", after.version)).unwrap_or_default();
            format!(": version {}{after}", before.version)
        });
        let key = &self.object.spec.key;
        let note = format!("Sent the {what} of staged connector {key}{}{lost}", versions.unwrap_or_default());
        tracing::info!(reason = reason.as_str(), "{note}");
        if lost.is_empty() && matches!(kind, CallKind::Create | CallKind::Delete) {
            return;
        }
        self.context.report(&self.object, EventType::Normal, reason, "Reconcile", &note);
    }

    /// Keeps the state of the connector for its deployments, and enqueues these if it has changed.
    pub(super) fn note_result(&mut self, state: &State, observed: Option<&Observed>) {
        let deployable = status::deployable(state, observed, &self.object.spec);
        self.note(StagedConnector { id: state.id.clone(), deployable });
    }

    pub(super) fn note(&mut self, result: StagedConnector) {
        if self.memory.result.as_ref() == Some(&result) {
            return;
        }
        self.memory.result = Some(result);
        self.context.staged.insert(self.object_ref, self.memory.clone());
        self.context.enqueue_users(Named::Staged, &self.object_ref.namespace, &self.object_ref.name);
    }

    /// The time, as conditions have it.
    pub(super) fn now(&self) -> Timestamp {
        self.context.clock.now()
    }
}
