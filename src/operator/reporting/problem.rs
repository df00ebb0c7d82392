//! What a failed call to the Connect API means for a resource: the reason, and who has to act next. Pure.
//!
//! Decided by the error code first, then by the HTTP status (contract section 8); never by a text.

use connect_api::error::Failure;
use connect_api::scopes::{self, Right};
use connect_api::{ApiError, ErrorCode, Reaction};

use super::conditions::ConditionUpdate;
use super::outage::{Outage, OutageKind};
use super::reason::{ConditionState, Reason};
use crate::operator::object_ref::{Kind, ObjectRef};

/// Returns the condition for a failed call. `project`: key of the remote project, for the names of scopes.
pub fn condition(error: &ApiError, project: &str) -> ConditionUpdate {
    condition_of(error, Right::of_operation(error.operation).as_slice(), project)
}

/// Returns the condition for a call that needs these rights, the one that is most likely missing first.
fn condition_of(error: &ApiError, rights: &[Right], project: &str) -> ConditionUpdate {
    let reason = reason(error);
    let message = match reason {
        Reason::PermissionMissing if !rights.is_empty() => {
            format!("The API client lacks {}. {}", scopes::explain(rights, project), sentence(error))
        }
        _ if reason.state() == ConditionState::Waiting => unnumbered(error),
        _ => sentence(error),
    };
    ConditionUpdate::new(reason, message)
}

/// Returns the condition when nothing was sent because the token lacks these rights.
pub fn unpermitted(missing: &[Right], project: &str) -> ConditionUpdate {
    let message = format!(
        "Nothing is sent: the API client lacks {}. Scopes of an API client cannot be changed: create another one, and \
         change the Secret",
        scopes::explain(missing, project)
    );
    ConditionUpdate::new(Reason::PermissionMissing, message)
}

/// Formats the error without its correlation id: each attempt has a different one, and a retry must not change the
/// message (rule 21). The log has it.
fn unnumbered(error: &ApiError) -> String {
    sentence(&ApiError { correlation_id: None, ..error.clone() })
}

/// Formats the error as a sentence of a message.
pub(in crate::operator) fn sentence(error: &ApiError) -> String {
    let mut text = error.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn reason(error: &ApiError) -> Reason {
    match error.code() {
        Some(ErrorCode::ConnectorReferenceNotFound) => return Reason::ConnectorNotFound,
        Some(
            ErrorCode::DeploymentUnknownApplicationConfiguration
            | ErrorCode::DeploymentUnknownApplicationConfigurationKey
            | ErrorCode::DeploymentUnknownGlobalConfigurationKey
            | ErrorCode::DeploymentMissingGlobalConfigurationKey
            | ErrorCode::DeploymentEmptyRequiredGlobalConfigurationKey
            | ErrorCode::DeploymentApplicationRequired
            | ErrorCode::DeploymentUnsupportedRegion
            | ErrorCode::DeploymentInvalidRetryPolicy
            | ErrorCode::DeploymentRetryPolicyOverrideNotAllowed
            | ErrorCode::DeploymentInvalidType,
        ) => return Reason::ConfigurationInvalid,
        Some(ErrorCode::DeploymentApplicationDoNotBelong) => return Reason::ApplicationMissing,
        Some(
            ErrorCode::GitRepositoryNotReachable
            | ErrorCode::ConnectorSpecificationFileNotFound
            | ErrorCode::ConnectorSpecificationFileNotValid,
        ) => return Reason::RepositoryInvalid,
        Some(ErrorCode::AuthorizationError) => return Reason::PermissionMissing,
        Some(ErrorCode::DuplicateField) => return Reason::RequestRejected,
        _ => {}
    }
    match (&error.failure, error.reaction()) {
        (Failure::CredentialsRefused, _) | (_, Reaction::Token) => Reason::CredentialsRejected,
        (_, Reaction::Fix) if error.status() == Some(403) => Reason::PermissionMissing,
        (_, Reaction::Fix | Reaction::Gone) => Reason::RequestRejected,
        (Failure::Answered { status: 429, .. }, _) => Reason::Throttled,
        (_, Reaction::Retry | Reaction::Verify | Reaction::Refetch | Reaction::Wait) => Reason::ServiceUnavailable,
    }
}

/// Rule 4: another resource owns the key. `kind`: that of both.
pub fn key_conflict(kind: &str, winner: &ObjectRef, key: &str) -> ConditionUpdate {
    let (what, outage) = match winner.kind {
        Kind::Deployment => ("deployment", ": nothing serves then, and the next deployment has other URLs"),
        _ => ("staged connector", ""),
    };
    let message = format!(
        "{kind} {winner} has the key {key} in the same remote project, so this resource changes nothing. If this one is to \
         take its place, as after a rename in Git: set deletionPolicy: Orphan on that one and adoptionPolicy: Adopt on this \
         one, then delete that one (docs/moving.md, Renaming a resource). If that one is deleted while its policy is Delete, \
         so is its {what}{outage}. If both are to exist, create this one again with another spec.key"
    );
    ConditionUpdate::new(Reason::KeyConflict, message)
}

/// Rule 4: the record under the key may belong to a resource that this operator cannot list or deserialize.
pub fn unlisted(key: &str) -> ConditionUpdate {
    let message = format!(
        "What exists under the key {key} is not taken over while the API server refuses to list a namespace to watch, or \
         while this version does not understand a resource of the same kind: it may belong to such a resource. The \
         operator's log names it, and /readyz a refused list; the operator continues by itself"
    );
    ConditionUpdate::new(Reason::InternalError, message)
}

/// Returns the condition when the project that a resource names does not exist.
pub fn project_missing(project: &ObjectRef) -> ConditionUpdate {
    let (kind, name) = (project.kind.as_str(), &project.name);
    let place = if project.kind.is_cluster_scoped() { "" } else { " in this namespace" };
    ConditionUpdate::new(Reason::ProjectMissing, format!("{kind} {name} is missing{place}"))
}

/// Returns the condition for a failed call that changes something; `None`: the error is transient, and the next
/// observation decides. `key_exists`: the response to a create was that the key exists. `rights`: those that the call
/// needs, the one that is most likely missing first.
pub fn condition_of_call(
    error: &ApiError,
    key_exists: bool,
    rights: &[Right],
    project: &str,
) -> Option<ConditionUpdate> {
    // Busy, another version and an existing key need no action of a user.
    let passing = matches!(error.reaction(), Reaction::Wait | Reaction::Refetch) || key_exists;
    (!passing || error.is_held_back()).then(|| condition_of(error, rights, project))
}

/// Returns the condition for a remote that cannot be used. `project`: its key.
pub fn condition_of_outage(outage: &Outage, project: &str) -> ConditionUpdate {
    let reason = match outage.kind {
        OutageKind::Unavailable => Reason::ServiceUnavailable,
        OutageKind::Throttled => Reason::Throttled,
        OutageKind::CredentialsRejected => Reason::CredentialsRejected,
        OutageKind::PermissionMissing => {
            let error = ApiError { correlation_id: None, ..ApiError::clone(&outage.error) };
            let ConditionUpdate { reason, message, .. } = condition(&error, project);
            return ConditionUpdate::new(
                reason,
                format!("{message}. If it has it, compare spec.projectKey with the key of its project"),
            );
        }
        OutageKind::ProjectNotFound => {
            let message = format!(
                "The service does not answer for a project {project}: this region has no project of this key, or \
                 Connect is not enabled for it. The operator tries again every 5 minutes. {}",
                unnumbered(&outage.error)
            );
            return ConditionUpdate::new(Reason::ProjectNotFound, message);
        }
    };
    ConditionUpdate::new(reason, unnumbered(&outage.error))
}

/// Returns the condition for a resource whose project cannot be used.
pub fn of_project(project: &ObjectRef, condition: &ConditionUpdate) -> ConditionUpdate {
    match condition.reason {
        // Users of a namespace need not be allowed to read the project, and its message names objects of the operator's
        // namespace.
        reason if project.kind.is_cluster_scoped() => ConditionUpdate::new(
            Reason::ProjectNotReady,
            format!("{} {project} cannot be used ({reason}): see its conditions", project.kind.as_str()),
        ),
        // The same person has to act.
        Reason::CredentialsRejected | Reason::PermissionMissing | Reason::ProjectNotFound => condition.clone(),
        _ => ConditionUpdate::new(
            Reason::ProjectNotReady,
            format!("The ConnectProject cannot be used: {}", condition.message),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::testing::{answered, coded, failure};

    /// The same error, as the service answers it to a call with this operation and number.
    fn of(error: ApiError, operation: &'static str, number: &str) -> ApiError {
        ApiError { operation, message: "no".into(), correlation_id: Some(number.into()), ..error }
    }

    fn outage(kind: OutageKind, error: ApiError) -> Outage {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Outage { kind, error: std::sync::Arc::new(error), until: at }
    }

    #[test]
    fn the_reason_follows_from_code_and_status() {
        let invalid = Reason::ConfigurationInvalid;
        for (case, error, expected) in [
            ("no such connector", coded(400, "ConnectorReferenceNotFound"), Reason::ConnectorNotFound),
            ("unknown key", coded(400, "DeploymentUnknownApplicationConfigurationKey"), invalid),
            ("unknown application", coded(400, "DeploymentUnknownApplicationConfiguration"), invalid),
            ("it cannot be added", coded(400, "DeploymentApplicationDoNotBelong"), Reason::ApplicationMissing),
            ("no such repository", coded(400, "GitRepositoryNotReachable"), Reason::RepositoryInvalid),
            ("no connect.yaml", coded(400, "ConnectorSpecificationFileNotFound"), Reason::RepositoryInvalid),
            ("right missing", coded(403, "AuthorizationError"), Reason::PermissionMissing),
            ("right missing, with another status", coded(400, "AuthorizationError"), Reason::PermissionMissing),
            ("403 without a code", answered(403), Reason::PermissionMissing),
            ("second 401", coded(401, "invalid_token"), Reason::CredentialsRejected),
            ("client secret wrong", failure(Failure::CredentialsRefused), Reason::CredentialsRejected),
            ("not production", coded(400, "DeploymentProductionDeactivated"), Reason::RequestRejected),
            ("400 without a code", answered(400), Reason::RequestRejected),
            ("a value that is taken", coded(400, "DuplicateField"), Reason::RequestRejected),
            ("no such address", coded(404, "ResourceNotFound"), Reason::RequestRejected),
            ("throttled", answered(429), Reason::Throttled),
            ("gateway", answered(502), Reason::ServiceUnavailable),
            ("no answer", failure(Failure::NoAnswer), Reason::ServiceUnavailable),
            ("cannot be read", failure(Failure::Unreadable), Reason::ServiceUnavailable),
            ("an unknown code goes by the status", coded(500, "Strange"), Reason::ServiceUnavailable),
        ] {
            assert_eq!(condition(&error, "shop").reason, expected, "{case}");
        }
    }

    #[test]
    fn rule_04_a_conflict_names_the_way_that_keeps_the_deployment_and_what_a_deletion_does() {
        for (kind, winner, outage) in [
            ("ConnectorDeployment", ObjectRef::deployment("shop", "tax"), "so is its deployment: nothing serves then"),
            ("ConnectorStaged", ObjectRef::staged("shop", "kit"), "so is its staged connector. If"),
        ] {
            let message = key_conflict(kind, &winner, "tax").message;
            for part in [
                &*format!("{kind} {winner} has the key tax"),
                "set deletionPolicy: Orphan on that one and adoptionPolicy: Adopt on this one, then delete that one",
                "docs/moving.md, Renaming a resource",
                outage,
                "another spec.key",
            ] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
    }

    #[test]
    fn rule_21_a_retried_call_is_reported_with_the_same_message() {
        let failed = |status, number| condition(&of(answered(status), "getDeploymentByKey", number), "shop");
        assert_eq!(failed(503, "one"), failed(503, "two"));
        assert_eq!(failed(503, "one").message, "The service answered 503: no (getDeploymentByKey)");
        assert!(failed(400, "one").message.contains("one"), "who has to ask the support needs the number");
    }

    #[test]
    fn a_failed_call_is_reported_only_if_a_user_has_to_act_or_it_is_held_back() {
        for (case, error, key_exists, reported) in [
            ("rejected", coded(400, "DeploymentProductionDeactivated"), false, true),
            ("held back", failure(Failure::HeldBack), false, true),
            ("no answer", failure(Failure::NoAnswer), false, true),
            ("another version", coded(409, "ConcurrentModification"), false, false),
            ("the key exists", coded(400, "DuplicateField"), true, false),
            ("a value that is taken", coded(400, "DuplicateField"), false, true),
        ] {
            assert_eq!(condition_of_call(&error, key_exists, &[], "shop").is_some(), reported, "{case}");
        }
    }

    #[test]
    fn a_problem_of_the_project_keeps_its_reason_where_the_same_user_has_to_act() {
        for (reason, expected) in [
            (Reason::CredentialsRejected, Reason::CredentialsRejected),
            (Reason::PermissionMissing, Reason::PermissionMissing),
            (Reason::ProjectNotFound, Reason::ProjectNotFound),
            (Reason::ServiceUnavailable, Reason::ProjectNotReady),
            (Reason::SecretMissing, Reason::ProjectNotReady),
        ] {
            let condition = of_project(&ObjectRef::project("shop", "demo"), &ConditionUpdate::new(reason, "why"));
            assert_eq!(condition.reason, expected, "{reason:?}");
            assert!(condition.message.ends_with("why"), "{}", condition.message);
            let shared = of_project(&ObjectRef::cluster_project("demo"), &ConditionUpdate::new(reason, "why"));
            let message = format!("ClusterConnectProject demo cannot be used ({reason}): see its conditions");
            assert_eq!((shared.reason, shared.message), (Reason::ProjectNotReady, message));
        }
    }

    #[test]
    fn rule_21_an_outage_is_reported_with_the_same_message_after_each_attempt() {
        use OutageKind::{CredentialsRejected, PermissionMissing, ProjectNotFound, Throttled, Unavailable};
        for kind in [Unavailable, Throttled, CredentialsRejected, PermissionMissing, ProjectNotFound] {
            let outage = outage(kind, of(answered(403), "queryDeployments", "number"));
            let message = condition_of_outage(&outage, "shop").message;
            assert!(!message.contains("number"), "{message}");
        }
    }

    #[test]
    fn a_missing_right_is_named_with_what_it_is_needed_for() {
        let error = |operation| ApiError { correlation_id: None, ..of(answered(403), operation, "") };
        let deploy = "manage_project:shop or manage_connectors_deployments:shop, which is needed to create, redeploy \
                      and delete deployments";
        let generate = "manage_api_clients:shop, which is needed to deploy a connector whose API client is generated";
        let rights = &[Right::GenerateApiClients, Right::ManageDeployments];
        let create = error("createDeployment");
        let generates = condition_of_call(&create, false, rights, "shop").expect("a user has to act");
        let answer = "The service answered 403: no (createDeployment)";
        let change = "Scopes of an API client cannot be changed: create another one, and change the Secret";
        for (case, condition, message) in [
            ("a call", condition(&create, "shop"), format!("The API client lacks {deploy}. {answer}")),
            (
                "it generates an API client",
                generates,
                format!("The API client lacks {generate}; and {deploy}. {answer}"),
            ),
            (
                "no right",
                condition(&error("readAction"), "shop"),
                "The service answered 403: no (readAction)".to_owned(),
            ),
            (
                "nothing is sent",
                unpermitted(rights, "shop"),
                format!("Nothing is sent: the API client lacks {generate}; and {deploy}. {change}"),
            ),
        ] {
            assert_eq!((condition.reason, condition.message), (Reason::PermissionMissing, message), "{case}");
        }
        let outage = outage(OutageKind::PermissionMissing, error("queryDeployments"));
        let message = condition_of_outage(&outage, "shop").message;
        assert!(message.contains("view_connectors_deployments:shop, which is needed to read"), "{message}");
    }
}
