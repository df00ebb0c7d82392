//! The status of a `ConnectProject`. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::clock::between;
use crate::controllers::conditions::{self, Told, whole_seconds};
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::remote::Health;
use crate::crd::ConnectProjectStatus;
use crate::crd::shared::RemoteIdentity;

/// `lastLookAt` is written again after this time; a write for each look would be one for nothing (rule 21).
const LOOK_WORTH_WRITING: Duration = Duration::from_hours(1);
/// Most scopes that are kept.
const SCOPES: usize = 256;

/// What is the case at the end of a run.
pub struct Facts {
    /// Generation of the resource that the run was about.
    pub generation: i64,
    /// The remote project that it names.
    pub identity: RemoteIdentity,
    /// How the remote is, or why there is none.
    pub health: Result<Health, Told>,
    /// Scopes of the last token.
    pub scopes: Option<Vec<String>>,
    /// How many deployments name the project.
    pub deployments: u32,
}

/// What to tell people.
#[must_use]
pub fn tell(facts: &Facts) -> Told {
    match &facts.health {
        Err(told) => told.clone(),
        Ok(Health::Unknown) => Told::new(Reason::Queued, "The project is being looked at"),
        Ok(Health::Good { .. }) => Told::new(Reason::Available, "The project answers with these credentials"),
        Ok(Health::Failing(trouble)) => problem::told_of_trouble(trouble),
    }
}

/// The new status, from the one before.
#[must_use]
pub fn summarize(before: &ConnectProjectStatus, facts: &Facts, now: Timestamp) -> ConnectProjectStatus {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    status.remote = Some(facts.identity.clone());
    status.deployments = Some(facts.deployments);
    if let Some(scopes) = &facts.scopes {
        status.scopes = scopes.iter().filter(|scope| scope.len() <= SCOPES).take(SCOPES).cloned().collect();
    }
    if let Ok(Health::Good { last_look }) = &facts.health {
        let old = status.last_look_at.as_ref().is_none_or(|at| between(at.0, *last_look) >= LOOK_WORTH_WRITING);
        if old {
            status.last_look_at = Some(Time(whole_seconds(*last_look)));
        }
    }
    status.conditions = conditions::conditions(&before.conditions, &tell(facts), Vec::new(), facts.generation, now);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(health: Result<Health, Told>) -> Facts {
        let identity = RemoteIdentity { api_url: "https://connect.test".into(), project_key: "demo".into() };
        Facts { generation: 1, identity, health, scopes: None, deployments: 2 }
    }

    #[test]
    fn rule_21_looks_alone_are_no_reason_to_write() {
        let start = Timestamp::UNIX_EPOCH;
        let good = |seconds| {
            let last_look = Timestamp::from_second(seconds).expect("a time in range");
            facts(Ok(Health::Good { last_look }))
        };
        let first = summarize(&ConnectProjectStatus::default(), &good(10), start);
        let later = Timestamp::from_second(300).expect("a time in range");
        assert_eq!(summarize(&first, &good(300), later), first);
        assert_ne!(summarize(&first, &good(3_610), later), first, "an hour is worth a write");
    }

    #[test]
    fn a_project_says_who_has_to_act() {
        for (case, health, reason) in [
            ("not looked at", Ok(Health::Unknown), Reason::Queued),
            ("answers", Ok(Health::Good { last_look: Timestamp::UNIX_EPOCH }), Reason::Available),
            ("no Secret", Err(Told::new(Reason::SecretMissing, "")), Reason::SecretMissing),
        ] {
            assert_eq!(tell(&facts(health)).reason, reason, "{case}");
        }
    }
}
