//! Looks up the Extensions and Subscriptions in `spec.verify` in the HTTP API of the project, and uses the results.
//!
//! The lookups have clients of their own and use neither the circuit breaker nor the permits: no failure of them delays calls
//! of the Connect API.

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use connect_api::CommerceApi;
use connect_api::commerce::ResourceName;
use connect_api::model::Deployment as Record;

use super::super::decide::{Decision, Outcome};
use super::super::persisted::{PersistedState, Phase};
use super::super::verification::{self, Found};
use crate::operator::context::Project;
use crate::operator::remote::Remote;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

use super::Reconciler;

/// Pause before the second lookup of what is not verified; the pause grows with the age of the operation.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause after a lookup in which something could not be read.
const AFTER_FAILURE: Duration = Duration::from_mins(1);
const NOT_YET: &str = "The lookup follows once the deployment is Deployed";

impl Reconciler<'_> {
    /// Returns the condition `Verified` after this reconcile, `None`: there is nothing to verify; and when to look up again.
    pub(super) async fn verify(
        &mut self,
        remote: &Remote,
        record: Option<&Record>,
        decision: &Decision,
    ) -> (Option<ConditionUpdate>, Option<Duration>) {
        let object = Arc::clone(&self.object);
        let Some(verify) = &object.spec.verify else { return (None, None) };
        let deployed = matches!(
            decision.outcome,
            Outcome::Settled { phase: Phase::Deployed, .. }
                | Outcome::VersionMismatch { .. }
                | Outcome::NotMoved { .. }
                | Outcome::Observed(Phase::Deployed)
        );
        let Some(record) = record.filter(|_| deployed) else {
            return (Some(ConditionUpdate::new(Reason::NotChecked, NOT_YET)), None);
        };
        let client = match self.commerce(remote) {
            Ok(client) => client,
            Err(condition) => return (Some(condition), None),
        };
        // No call of the Connect API follows, and none of another resource waits for the HTTP API.
        self.permit = None;
        let found = look_up(&*client, &verification::resources(verify)).await;
        let condition = verification::evaluate(verify, &found, record, &remote.settings().project_key)
            .unwrap_or_else(|why| self.unverified(why));
        let ended = decision.persisted.applied.as_ref().map(|applied| applied.at);
        let age = ended.map_or(Duration::MAX, |ended| between(ended, self.context.clock.now()));
        let unverified_for = (condition.reason != Reason::Verified).then_some(age);
        let failed = found.iter().any(|found| matches!(found, Found::Unreadable(_)));
        (Some(condition), Some(pause(self.interval(), unverified_for, failed)))
    }

    /// Returns the condition `Verified` for the status: `found`, or the earlier one while there is no new result.
    pub(super) fn verified(
        &self,
        found: Option<&ConditionUpdate>,
        persisted: &PersistedState,
    ) -> Option<ConditionUpdate> {
        self.object.spec.verify.as_ref()?;
        let unknown = || self.unverified(NOT_YET.to_owned());
        let changes = persisted.operation.is_some().then(|| ConditionUpdate::new(Reason::NotChecked, NOT_YET));
        Some(changes.or_else(|| found.cloned()).unwrap_or_else(unknown))
    }

    fn unverified(&self, why: String) -> ConditionUpdate {
        verification::unknown(&self.status().conditions, self.object.metadata.generation.unwrap_or_default(), why)
    }

    /// Returns the client for the lookups, with the credentials that the project has for them.
    fn commerce(&self, remote: &Remote) -> Result<Arc<dyn CommerceApi>, ConditionUpdate> {
        let project = self.project();
        let Some(Project { http_api_url, http_api, .. }) = self.context.memory.projects.get(&project) else {
            return Err(self.unverified("The project is not known yet".to_owned()));
        };
        let settings = http_api.unwrap_or_else(|| Ok(remote.settings().clone()))?;
        let client = self.context.remotes.commerce(&project, &settings, &http_api_url);
        client.map_err(|sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence))
    }
}

/// Looks up these resources: one observation for each, in their order.
async fn look_up(client: &dyn CommerceApi, resources: &[ResourceName]) -> Vec<Found> {
    let mut found = Vec::with_capacity(resources.len());
    for name in resources {
        match client.destination(name).await {
            Ok(there) => found.push(there.map_or(Found::Absent, Found::There)),
            Err(error) => {
                tracing::debug!(%error, "a resource of the project cannot be looked up");
                match Found::failed(&error) {
                    // A service that does not answer, or rejects the credentials, is not asked for the remaining resources.
                    failed @ (Found::Unreadable(_) | Found::CredentialsRefused(_)) => {
                        found.resize(resources.len(), failed);
                        break;
                    }
                    failed => found.push(failed),
                }
            }
        }
    }
    found
}

/// Returns the pause before the next lookup: the interval, and less after a failure, and while something is not verified,
/// because scripts may take their time. `unverified_for`: how long the resources have been expected to be as declared;
/// `None`: they are.
fn pause(interval: Duration, unverified_for: Option<Duration>, failed: bool) -> Duration {
    let pause = unverified_for.map_or(interval, |age| age.max(FIRST_PAUSE).min(interval));
    if failed { pause.min(AFTER_FAILURE) } else { pause }
}
