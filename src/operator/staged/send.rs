//! Sends the one call of a decision: persists what is about to be sent, sends it, and records what came of it.

use std::time::Duration;

use clock::later;
use connect_api::registry::StagedApi;
use connect_api::scopes::Right;
use connect_api::{ConnectApi, ErrorCode};
use kube::runtime::events::EventType;

use super::act::{self, Answer};
use super::call::{self, Response};
use super::decide::Decision;
use super::intent::Intent;
use super::observed::Observed;
use super::outcome::{self, Outcome};
use super::reconcile::{Read, Reconciler};
use super::state::CallKind;
use crate::operator::context::staged_memory::RefusedCall;
use crate::operator::deployment::decide::{LIMIT, refused_for};
use crate::operator::reconcile::Next;
use crate::operator::reconcile::record::{Stop, report_left_behind};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::problem;

/// Pause before the look that follows a response.
const AFTER_RESPONSE: Duration = Duration::from_secs(1);

impl Reconciler<'_> {
    /// Sends a call, unless the object was changed since it was read.
    pub(super) async fn send(
        &mut self,
        api: &(impl ConnectApi + StagedApi),
        read: &Read,
        intent: &Intent,
        seen: Option<&Observed>,
        decision: Decision,
        kind: CallKind,
    ) -> Result<Next, Stop> {
        let now = self.context.clock.now();
        let begun = call::begin(&decision.state, kind, intent, seen, now);
        let Some(sent) = &begun.call else { return Ok(Next::Again(None)) };
        let condition = self.condition(Outcome::Running(kind), read);
        let reason = condition.reason;
        self.write(&begun, condition, ObservedRecord::answered(read.record.as_ref())).await?;
        self.memory.of_decision = decision.memory;

        let (spec, id, send_before) = (&self.object.spec, begun.id.as_deref(), later(now, LIMIT));
        let answer = act::send(api, spec, sent, read.record.as_ref(), id, send_before).await;
        let after = call::after(&decision.state, &begun, &intent.repository.tag, &answer.response);
        let condition = self.response_condition(&answer, kind, read);
        let pause = self.note_answer(&answer, &condition, call::cause(kind, intent, seen));
        let is_there = self.record(&after, condition, ObservedRecord::answered(answer.record.as_ref())).await?;
        self.report_sent(&answer, kind, reason.into(), read);
        if is_there {
            return Ok(Next::Again(Some(pause)));
        }
        if let (CallKind::Create, Some(id)) = (kind, &after.id) {
            report_left_behind(self.context, &self.object, id);
        }
        Ok(Next::Gone)
    }

    fn response_condition(&self, answer: &Answer, kind: CallKind, read: &Read) -> ConditionUpdate {
        let project = self.identity.as_ref().map(|identity| identity.project_key.as_str()).unwrap_or_default();
        let failed = answer.error.as_ref().and_then(|error| {
            let exists = error.code() == Some(&ErrorCode::DuplicateField) && kind == CallKind::Create;
            problem::condition_of_call(error, exists, &[Right::ManageConnectors], project)
        });
        failed.unwrap_or_else(|| {
            let record = answer.record.as_ref().or(read.record.as_ref());
            outcome::ready_condition(Outcome::Running(kind), &self.object.spec.key, record, &[])
        })
    }

    /// Remembers what an answer means for later calls; returns the pause before the next look.
    fn note_answer(&mut self, answer: &Answer, condition: &ConditionUpdate, cause: String) -> Duration {
        let before = self.memory.of_decision.refused.take();
        match (&answer.response, &answer.error) {
            (Response::Refused, _) => {
                let times = before.filter(|before| before.cause == cause).map_or(1, |before| before.times + 1);
                let pause = refused_for(times);
                let until = later(self.context.clock.now(), pause);
                let condition = condition.clone();
                self.memory.of_decision.refused = Some(RefusedCall { cause, until, times, condition });
                pause.min(self.interval())
            }
            (Response::Unknown | Response::NotTaken | Response::Gone, Some(error)) => self.pause(error),
            (Response::Accepted(_) | Response::Unknown | Response::NotTaken | Response::Gone, _) => {
                self.memory.backoff.worked();
                AFTER_RESPONSE
            }
        }
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
        if !(lost.is_empty() && matches!(kind, CallKind::Create | CallKind::Delete)) {
            self.context.report(&self.object, EventType::Normal, reason, "Reconcile", &note);
        }
    }
}
