//! The status of a `ConnectProject`. Pure.

use std::time::Duration;

use clock::between;
use connect_api::text::is_unsafe;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::crd::ConnectProjectStatus;
use crate::crd::connect_project::SCOPES_SIZE;
use crate::crd::shared::RemoteIdentity;
use crate::operator::remote::Health;
use crate::operator::reporting::bounds;
use crate::operator::reporting::conditions::{self, ConditionUpdate, whole_seconds};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};

/// `lastResponseAt` is written again after this time: writing it for each successful read would be wasteful (rule 21).
const RESPONSE_WORTH_WRITING: Duration = Duration::from_hours(1);
/// Maximum number of scopes that are kept, and maximum length of each.
const SCOPES: usize = 256;

/// The inputs of the status at the end of a reconcile.
pub struct ProjectFacts {
    /// Generation of the reconciled object.
    pub generation: i64,
    /// The remote project that it names.
    pub identity: RemoteIdentity,
    /// The health of the remote, or why there is none.
    pub health: Result<Health, ConditionUpdate>,
    /// Whether the status says that this spec is available.
    pub was_available: bool,
    /// The reconcile request that was handled.
    pub handled: Option<String>,
    /// Scopes of the newest token.
    pub scopes: Option<Vec<String>>,
    /// How many resources name the project.
    pub users: Users,
    /// Whether the project is being deleted.
    pub deleting: bool,
    /// Why there is no up-to-date copy of its credentials.
    pub unkept: Option<ConditionUpdate>,
    /// Where its credentials are, for a message.
    pub credentials: String,
    /// Location of the copy, if the Secret that the project names is gone and the copy is used.
    pub copied_from: Option<String>,
}

/// Returns the `Ready` condition.
pub fn ready_condition(facts: &ProjectFacts) -> ConditionUpdate {
    let mut condition = match &facts.health {
        Err(condition) => condition.clone(),
        Ok(Health::Unknown) if !facts.was_available => {
            ConditionUpdate::new(Reason::Queued, "The project is being checked")
        }
        // Rule 19: what was reported stays while nothing newer is known, after a restart and a rotation.
        Ok(Health::Unknown | Health::Good { .. }) => {
            ConditionUpdate::new(Reason::Available, "The project answers with these credentials")
        }
        Ok(Health::Failing(outage)) => {
            let mut condition = problem::condition_of_outage(outage, &facts.identity.project_key);
            if condition.reason == Reason::CredentialsRejected && facts.copied_from.is_none() {
                condition.message = format!("{}. The credentials are {}", condition.message, facts.credentials);
            }
            condition
        }
    };
    if let (Reason::CredentialsRejected | Reason::PermissionMissing, Some(copy)) =
        (condition.reason, &facts.copied_from)
    {
        condition.message = format!(
            "{} (the credentials are those of the copy in the Secret {copy}: change it there)",
            condition.message
        );
    }
    if let Some(unkept) = facts.unkept.as_ref().filter(|_| works(&condition)) {
        condition = unkept.clone();
    }
    if facts.deleting {
        condition = waiting(facts.users, &condition);
    }
    condition
}

/// Whether nothing is known to be wrong.
fn works(condition: &ConditionUpdate) -> bool {
    matches!(condition.reason.state(), ConditionState::Ready | ConditionState::Progressing)
}

/// Rule 24: names the resources that the deletion waits for, and any other problem.
fn waiting(users: Users, condition: &ConditionUpdate) -> ConditionUpdate {
    let some = |count: u32, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let deployments = some(users.deployments, "ConnectorDeployment", "ConnectorDeployments");
    let staged = some(users.staged, "ConnectorStaged", "ConnectorStaged resources");
    let them = deployments.into_iter().chain(staged).collect::<Vec<_>>().join(" and ");
    let name = if users.deployments.saturating_add(users.staged) == 1 { "names" } else { "name" };
    let waits = format!("waits for {them} that {name} it");
    if works(condition) {
        return ConditionUpdate::new(Reason::InUse, format!("It is being deleted and {waits}"));
    }
    ConditionUpdate::new(condition.reason, format!("{}. It is being deleted and {waits}", condition.message))
}

/// How many resources name a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// Deployments.
    pub deployments: u32,
    /// Staged connectors.
    pub staged: u32,
}

impl Users {
    /// Whether no resource names it.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Returns the new status, given the one before.
pub fn summarize(before: &ConnectProjectStatus, facts: &ProjectFacts, now: Timestamp) -> ConnectProjectStatus {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    status.remote = Some(facts.identity.clone());
    status.deployments = Some(facts.users.deployments);
    status.handled_reconcile_request = facts.handled.clone().or(status.handled_reconcile_request);
    let is_kept = |scope: &&String| scope.len() <= SCOPES && !scope.contains(is_unsafe);
    if let Some(scopes) = &facts.scopes {
        status.scopes = scopes.iter().filter(is_kept).take(SCOPES).cloned().collect();
    }
    if let Ok(Health::Good { last_poll }) = &facts.health {
        let old = status.last_response_at.as_ref().is_none_or(|at| between(at.0, *last_poll) >= RESPONSE_WORTH_WRITING);
        if old {
            status.last_response_at = Some(Time(whole_seconds(*last_poll)));
        }
    }
    status.conditions =
        conditions::conditions(&before.conditions, &ready_condition(facts), None, facts.generation, now);
    bounded(status)
}

/// Returns the status with lists of a bounded size.
pub fn bounded(mut status: ConnectProjectStatus) -> ConnectProjectStatus {
    bounds::keep(&mut status.scopes, SCOPES_SIZE);
    status
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use connect_api::error::Failure;

    use super::*;
    use crate::operator::reporting::outage::{Outage, OutageKind};
    use crate::operator::testing::failure;

    fn facts(health: Result<Health, ConditionUpdate>) -> ProjectFacts {
        let identity = RemoteIdentity { api_url: "https://connect.test".into(), project_key: "demo".into() };
        ProjectFacts {
            generation: 1,
            identity,
            health,
            was_available: false,
            handled: None,
            scopes: None,
            users: Users { deployments: 2, staged: 0 },
            deleting: false,
            unkept: None,
            credentials: "the keys a and b of Secret c".into(),
            copied_from: None,
        }
    }

    #[test]
    fn rule_21_polls_alone_do_not_write_the_status() {
        let start = Timestamp::UNIX_EPOCH;
        let good = |seconds| {
            let last_poll = Timestamp::from_second(seconds).expect("a time in range");
            facts(Ok(Health::Good { last_poll }))
        };
        let first = summarize(&ConnectProjectStatus::default(), &good(10), start);
        let later = Timestamp::from_second(300).expect("a time in range");
        assert_eq!(summarize(&first, &good(300), later), first);
        assert_ne!(summarize(&first, &good(3_610), later), first, "an hour is worth a write");
    }

    #[test]
    fn the_reason_shows_who_has_to_act() {
        for (case, health, reason) in [
            ("no answer yet", Ok(Health::Unknown), Reason::Queued),
            ("answers", Ok(Health::Good { last_poll: Timestamp::UNIX_EPOCH }), Reason::Available),
            ("no Secret", Err(ConditionUpdate::new(Reason::SecretMissing, "")), Reason::SecretMissing),
        ] {
            assert_eq!(ready_condition(&facts(health)).reason, reason, "{case}");
        }
        let again = ProjectFacts { was_available: true, ..facts(Ok(Health::Unknown)) };
        assert_eq!(ready_condition(&again).reason, Reason::Available, "no answer yet after a restart or a rotation");
    }

    #[test]
    fn rule_24_a_project_that_is_being_deleted_reports_what_it_waits_for() {
        let good = || Ok(Health::Good { last_poll: Timestamp::UNIX_EPOCH });
        let missing = || Err(ConditionUpdate::new(Reason::SecretMissing, "Secret a is missing"));
        let unkept = || Some(ConditionUpdate::new(Reason::CredentialsNotKept, "No copy"));
        let one = ProjectFacts { users: Users { deployments: 1, staged: 0 }, ..facts(good()) };
        let no_copy = ProjectFacts { unkept: unkept(), ..facts(good()) };
        let waits = "It is being deleted and waits for";
        for (case, facts, reason, message) in [
            ("no problem", facts(good()), Reason::InUse, format!("{waits} 2 ConnectorDeployments")),
            ("one", one, Reason::InUse, format!("{waits} 1 ConnectorDeployment that names it")),
            ("no credentials", facts(missing()), Reason::SecretMissing, format!("Secret a is missing. {waits} 2")),
            ("no copy", no_copy, Reason::CredentialsNotKept, format!("No copy. {waits} 2")),
        ] {
            let condition = ready_condition(&ProjectFacts { deleting: true, ..facts });
            assert_eq!(condition.reason, reason, "{case}");
            assert!(condition.message.starts_with(&message), "{case}: {}", condition.message);
        }
    }

    #[test]
    fn rule_24_a_project_without_a_copy_is_not_ready() {
        let unkept = || Some(ConditionUpdate::new(Reason::CredentialsNotKept, "No copy"));
        let refused = ConditionUpdate::new(Reason::ConfigurationInvalid, "a host");
        for (case, health, reason) in [
            ("answers", Ok(Health::Good { last_poll: Timestamp::UNIX_EPOCH }), Reason::CredentialsNotKept),
            ("no answer yet", Ok(Health::Unknown), Reason::CredentialsNotKept),
            ("refused", Err(refused), Reason::ConfigurationInvalid),
        ] {
            let condition = ready_condition(&ProjectFacts { unkept: unkept(), ..facts(health) });
            assert_eq!(condition.reason, reason, "{case}");
            assert_ne!(condition.reason.state(), ConditionState::Ready, "{case}");
        }
    }

    #[test]
    fn rule_24_the_message_for_rejected_credentials_names_the_secret_or_the_copy() {
        let rejected = || Err(ConditionUpdate::new(Reason::CredentialsRejected, "no"));
        let copied = ProjectFacts { copied_from: Some("operator/connect-project-1".into()), ..facts(rejected()) };
        assert!(ready_condition(&copied).message.contains("operator/connect-project-1"));
        assert_eq!(ready_condition(&facts(rejected())).message, "no");
        let error = failure(Failure::CredentialsRefused);
        let (kind, at) = (OutageKind::CredentialsRejected, Timestamp::UNIX_EPOCH);
        let outage = Outage { kind, error: Arc::new(error), until: at };
        let message = ready_condition(&facts(Ok(Health::Failing(outage)))).message;
        assert!(message.ends_with(". The credentials are the keys a and b of Secret c"), "{message}");
    }
}
