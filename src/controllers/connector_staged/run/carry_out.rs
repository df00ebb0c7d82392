//! Carries a decision out: writes the operation, sends its one call, and says when to go on.

use std::time::Duration;

use clock::between;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use jiff::Timestamp;

use super::super::act::{self, Apis, Done};
use super::super::decide::{self, Answer, Call, Cause, Decision, Outcome, Step, Verdict};
use super::super::desired;
use super::super::ledger::OperationKind;
use super::super::status::{self, Sight};
use crate::controllers::conditions::Told;
use crate::controllers::elsewhere::FOREIGN_AGAIN;
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::refusal::Refusals;
use crate::crd::shared::RemoteIdentity;

use super::Run;

/// Shortest pause between two looks that find nothing to send: each is a call.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);
/// Pause before the look that follows an answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Run<'_> {
    pub(super) async fn carry_out(
        &mut self,
        apis: Apis<'_>,
        identity: RemoteIdentity,
        record: Option<Record>,
        decision: Decision,
        waits: &[String],
    ) -> Result<Next, kube::Error> {
        match &decision.step {
            Step::Release => self.release(Some(&decision.ledger)).await,
            Step::Rest => {
                let told = self.tell(&decision, record.as_ref(), waits);
                let sight = record.as_ref().map_or(Sight::Nothing, Sight::Record);
                self.say(&identity, &decision.ledger, told, sight).await?;
                // Not before: what is forgotten because of a decision is still needed if that could not be written.
                self.remembered.seen = decision.memory.clone();
                self.remembered.backoff.worked();
                self.remembered.refusals = Refusals::default();
                self.annotate(&decision.ledger).await?;
                self.note_state(&decision.ledger, record.as_ref());
                let mut interval = self.object.spec.effective_interval();
                if decision.verdict == Verdict::AwaitingProof && self.context.elsewhere.is_shard() {
                    // Another install may work on what it waits for, which then wakes nobody here.
                    interval = interval.min(FOREIGN_AGAIN);
                }
                let again = decision.again.map_or(interval, |again| again.max(SHORTEST_PAUSE).min(interval));
                Ok(Next::Again(Some(again)))
            }
            Step::Send(call) => {
                let told = status::tell(decision.verdict, &self.object.spec.key, record.as_ref(), &[]);
                let sight = record.as_ref().map_or(Sight::NotLooked, Sight::Record);
                self.say(&identity, &decision.ledger, told, sight).await?;
                self.remembered.seen = decision.memory.clone();
                self.note_state(&decision.ledger, record.as_ref());
                self.send(apis, &identity, record, call, &decision).await
            }
        }
    }

    /// What to tell of a decision. `waits`: what publishing waits for.
    fn tell(&self, decision: &Decision, record: Option<&Record>, waits: &[String]) -> Told {
        let refusal = self.remembered.refusal.clone().filter(|_| decision.verdict == Verdict::Refused);
        refusal.unwrap_or_else(|| {
            let impossible = record.map(|record| desired::changes(&self.object.spec, record).impossible);
            let details = if waits.is_empty() { impossible.unwrap_or_default() } else { waits.to_vec() };
            status::tell(decision.verdict, &self.object.spec.key, record, &details)
        })
    }

    /// The operation is written; now its one call.
    async fn send(
        &mut self,
        apis: Apis<'_>,
        identity: &RemoteIdentity,
        record: Option<Record>,
        call: &Call,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let Some(operation) = &decision.ledger.operation else { return Ok(Next::Again(None)) };
        let started: Timestamp = operation.started_at;
        let cause = (operation.kind != OperationKind::Delete).then(|| Cause {
            kind: operation.kind,
            digest: operation.digest.clone().unwrap_or_default(),
            generation: operation.generation,
            version: record.as_ref().map(|record| record.version),
            request: operation.request.clone(),
        });
        let kind = operation.kind;
        let done = act::send(apis, &self.object.spec, call, record.as_ref(), started).await;
        let now = self.context.clock.now();
        let outcome = decide::answered(&decision.ledger, &decision.memory, call, cause, &done.answer, now);
        self.after_call(identity, kind, done, outcome).await
    }

    async fn after_call(
        &mut self,
        identity: &RemoteIdentity,
        kind: OperationKind,
        done: Done,
        outcome: Outcome,
    ) -> Result<Next, kube::Error> {
        if outcome.release {
            return self.release(Some(&outcome.ledger)).await;
        }
        self.remembered.seen = outcome.memory.clone();
        let verdict = if outcome.key_taken { Verdict::KeyTaken } else { Verdict::Running(kind) };
        let exists = done.answer == Answer::Duplicate;
        let failed = done
            .error
            .as_ref()
            .and_then(|error| problem::told_of_call(error, exists, &[Right::ManageConnectors], &identity.project_key));
        let failed = failed.filter(|_| !outcome.key_taken);
        let told = failed.unwrap_or_else(|| status::tell(verdict, &self.object.spec.key, done.record.as_ref(), &[]));
        self.remembered.refusal = outcome.memory.refused.as_ref().map(|_| told.clone());
        self.say_answer(identity, &outcome.ledger, &told, done.record.as_ref()).await?;
        self.annotate(&outcome.ledger).await?;
        let now = self.context.clock.now();
        let Some(error) = &done.error else {
            self.remembered.backoff.worked();
            let interval = self.object.spec.effective_interval();
            return Ok(Next::Again(Some(if outcome.key_taken { interval } else { LOOK_AGAIN })));
        };
        let again = match (&outcome.memory.refused, &outcome.memory.pause) {
            (Some(refused), _) => between(now, refused.until).min(self.object.spec.effective_interval()),
            (None, Some(pause)) => between(now, pause.until),
            (None, None) => {
                let asked = self.asked_for();
                self.remembered.backoff.failed(asked, error, now)
            }
        };
        Ok(Next::Again(Some(again)))
    }
}
