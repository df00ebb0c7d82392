//! What `Ready=True` promises: when the remote was observed, it ran exactly what was desired then.

use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::crd::{DriftPolicy, ManagementPolicy};
use connect_operator::operator::reporting::conditions;

use super::State;
use crate::prelude::*;
use crate::remote::Values;

impl Checker {
    /// Returns the time from which on observations that a reconcile in progress uses may originate: a reconcile that
    /// began earlier may use an observation that is as old, and what a read shows may be older still.
    pub(super) fn since(&self, object_ref: &ObjectRef, now: Timestamp) -> Timestamp {
        let began = self.began.get(object_ref).copied().unwrap_or(now);
        began.saturating_sub(Duration::from_secs(30) + self.truth.lag).unwrap_or(Timestamp::MIN)
    }

    /// Returns the plain values that must exist: a value that another client sent stays where the resource sends none
    /// in its place, and is reported.
    pub(crate) fn due<'a>(
        &self,
        uid: &str,
        status: &ConnectorDeploymentStatus,
        wanted: &'a Values,
        state: &State,
    ) -> Vec<(&'a String, &'a String)> {
        let reported = status.conditions.iter().find(|it| it.type_ == names::VALUES_RETAINED && it.status == "True");
        let name = |key: &str| key.rsplit('/').next().expect("a key has a last part").to_owned();
        let is_reported = |key: &str| reported.is_some_and(|condition| condition.message.contains(&name(key)));
        let is_ours = |key: &String| self.lives.get(uid).is_some_and(|life| life.ever_sent.contains(key));
        // A record need not show retry policies, so they are unverified as secured values are.
        let unverified = conditions::is_true(&status.conditions, names::SECRETS_UNVERIFIED);
        let is_hidden = |key: &String| unverified && key.ends_with("retryPolicy") && !state.plain.contains_key(key);
        let due = wanted.plain.iter().filter(|(key, _)| is_ours(key) || !is_reported(key));
        due.filter(|(key, _)| !is_hidden(key)).collect()
    }

    /// `Ready=True`: when the remote was observed, it ran exactly what was desired then.
    pub(super) fn check_ready(
        &mut self,
        uid: &str,
        object: &ConnectorDeployment,
        status: &ConnectorDeploymentStatus,
        now: Timestamp,
    ) {
        let Some(life) = self.lives.get(uid) else { return };
        let object_ref = life.object_ref.clone();
        let generation = object.metadata.generation.unwrap_or_default();
        let written = conditions::ready_reason(&status.conditions).unwrap_or_default().to_owned();
        if status.observed_generation > generation {
            return self.wrong(format!("{object_ref} is Ready for a future generation"));
        }
        let began = self.began.get(&object_ref).copied().unwrap_or(now);
        let since = self.since(&object_ref, now);
        let has = |type_: &str| conditions::is_true(&status.conditions, type_);
        let observed = object.spec.management_policy == ManagementPolicy::ObserveOnly;
        let any_plain = observed || has(names::DRIFTED) || object.spec.drift_policy == DriftPolicy::Ignore;
        let any_secured = observed || has(names::SECRETS_UNVERIFIED);
        let asks = life.asked_of(status.observed_generation, began);
        let mut wanted: Vec<(&Values, Option<i64>)> =
            asks.filter_map(|ask| Some((ask.values.as_ref()?, ask.version))).collect();
        // A value that is required and no longer given stays as it was sent, which is reported.
        let removed = life.asks.last().is_some_and(|ask| !ask.edited && ask.values.is_none());
        if removed && has(names::VALUES_RETAINED) {
            let planned = life.asks.iter().take(life.planned + 1);
            wanted.extend(planned.filter_map(|ask| Some((ask.values.as_ref()?, ask.version))));
        }
        let id = match (&status.id, observed) {
            (Some(id), _) => id.clone(),
            (None, true) => return,
            (None, false) => return self.wrong(format!("{object_ref} is Ready without an id")),
        };
        let fits = self.truth.since(&id, since).any(|truth| {
            truth.status == "Deployed"
                && !truth.malformed
                && (observed
                    || wanted.iter().any(|(wanted, version)| {
                        version.is_none_or(|version| version == truth.connector)
                            && (any_plain || truth.plain_is(&self.due(uid, status, wanted, truth)))
                            && (any_secured || truth.foreign_secured || truth.secured_is(&wanted.secured))
                    }))
        });
        if !fits {
            let seen: Vec<_> = self.truth.since(&id, since).collect();
            self.wrong(format!("{object_ref} is Ready ({written}), but asks for {wanted:?}, and there was {seen:?}"));
        }
    }
}
