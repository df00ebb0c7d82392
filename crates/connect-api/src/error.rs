//! What a call can fail with, by code first and by HTTP status where there is no known code (contract section 8).
//!
//! Nothing here reads a text to decide. Texts of the service are the user's data: they are cut, and masked before
//! they get here ([`super::api`] says by whom). Next: `controllers/problem.rs` for what a controller makes of it.

use std::fmt;
use std::time::Duration;

use crate::open_enum;

open_enum! {
    /// The codes of contract section 8.2, spelled as the service spells them.
    ErrorCode {
        /// Caller not known.
        AuthenticationError = "AuthenticationError",
        /// Caller lacks a right.
        AuthorizationError = "AuthorizationError",
        /// The service is changing its size.
        BadGateway = "BadGateway",
        /// The sent version is not the current one.
        ConcurrentModification = "ConcurrentModification",
        /// The value is taken.
        DuplicateField = "DuplicateField",
        /// The value points to nothing.
        FieldValueNotFound = "FieldValueNotFound",
        /// The server failed, before or after saving.
        General = "General",
        /// Not JSON, or a wrong shape.
        InvalidJsonInput = "InvalidJsonInput",
        /// A part of the path is wrong.
        InvalidPathParam = "InvalidPathParam",
        /// A query parameter is wrong.
        InvalidQueryParam = "InvalidQueryParam",
        /// The address leads to nothing.
        ResourceNotFound = "ResourceNotFound",
        /// Publish with certification, certified already.
        ConnectorAlreadyCertified = "ConnectorAlreadyCertified",
        /// No such connector, or not in that version.
        ConnectorReferenceNotFound = "ConnectorReferenceNotFound",
        /// The tag has no `connect.yaml`.
        ConnectorSpecificationFileNotFound = "ConnectorSpecificationFileNotFound",
        /// The `connect.yaml` of the tag is wrong.
        ConnectorSpecificationFileNotValid = "ConnectorSpecificationFileNotValid",
        /// Publish with certification, being certified already.
        ConnectorStagedInCertification = "ConnectorStagedInCertification",
        /// Staged connector without preview permission.
        ConnectorStagedNotPreviewable = "ConnectorStagedNotPreviewable",
        /// List of projects of one that is not private.
        ConnectorStagedNotPrivate = "ConnectorStagedNotPrivate",
        /// Preview permission asked for again too early.
        ConnectorStagedPreviewRequestUnderProcess = "ConnectorStagedPreviewRequestUnderProcess",
        /// Repository or tag out of reach.
        GitRepositoryNotReachable = "GitRepositoryNotReachable",
        /// Values for an application that the deployment lacks.
        DeploymentApplicationDoNotBelong = "DeploymentApplicationDoNotBelong",
        /// No application at all.
        DeploymentApplicationRequired = "DeploymentApplicationRequired",
        /// Redeploy could not move to the newer connector.
        DeploymentConnectorUpdateFailure = "DeploymentConnectorUpdateFailure",
        /// Required global variable with an empty value.
        DeploymentEmptyRequiredGlobalConfigurationKey = "DeploymentEmptyRequiredGlobalConfigurationKey",
        /// Deployment is Queued, Deploying or Undeploying.
        DeploymentInvalidStatusTransition = "DeploymentInvalidStatusTransition",
        /// Type does not fit the connector.
        DeploymentInvalidType = "DeploymentInvalidType",
        /// Required global variable is missing.
        DeploymentMissingGlobalConfigurationKey = "DeploymentMissingGlobalConfigurationKey",
        /// The project may not deploy to production.
        DeploymentProductionDeactivated = "DeploymentProductionDeactivated",
        /// Values for an application that `connect.yaml` lacks.
        DeploymentUnknownApplicationConfiguration = "DeploymentUnknownApplicationConfiguration",
        /// Values for a variable that `connect.yaml` lacks.
        DeploymentUnknownApplicationConfigurationKey = "DeploymentUnknownApplicationConfigurationKey",
        /// Values for a global variable that the connector lacks.
        DeploymentUnknownGlobalConfigurationKey = "DeploymentUnknownGlobalConfigurationKey",
        /// Not a region for this deployment.
        DeploymentUnsupportedRegion = "DeploymentUnsupportedRegion",
        /// A retry policy breaks its rules.
        DeploymentInvalidRetryPolicy = "DeploymentInvalidRetryPolicy",
        /// This application cannot replace its retry policy.
        DeploymentRetryPolicyOverrideNotAllowed = "DeploymentRetryPolicyOverrideNotAllowed",
        /// The deployment cannot go back to an earlier revision.
        DeploymentRollbackNotAllowed = "DeploymentRollbackNotAllowed",
        /// Logs of an application that the connector lacks.
        DeploymentApplicationDoesNotExist = "DeploymentApplicationDoesNotExist",
        /// Wrong start or end.
        DeploymentLogInvalidDate = "DeploymentLogInvalidDate",
        /// Wrong page token.
        DeploymentLogInvalidPageToken = "DeploymentLogInvalidPageToken",
        /// Logs of a deployment on AWS without an application.
        DeploymentLogMissingApplicationName = "DeploymentLogMissingApplicationName",
    }
}

/// What the caller does about an error (contract section 8.2, column *Reaction*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Sends the same again, with growing pauses; a create is checked first.
    Retry,
    /// Reads first, because the change may or may not have happened, then decides anew.
    Verify,
    /// Reads, decides anew, sends with the version just read.
    Refetch,
    /// Leaves it until the status of the resource changes.
    Wait,
    /// Fetches a new token once; the second time it is for people.
    Token,
    /// Takes the resource as absent.
    Gone,
    /// Gives up until the input, the credentials or the remote settings change.
    Fix,
}

impl ErrorCode {
    /// What to do about this code; `None` for one that the contract does not list.
    #[must_use]
    pub fn reaction(&self) -> Option<Reaction> {
        Some(match self {
            Self::AuthenticationError => Reaction::Token,
            Self::BadGateway => Reaction::Retry,
            Self::ConcurrentModification => Reaction::Refetch,
            Self::DuplicateField | Self::General | Self::DeploymentConnectorUpdateFailure => Reaction::Verify,
            Self::ResourceNotFound => Reaction::Gone,
            Self::ConnectorStagedInCertification
            | Self::ConnectorStagedPreviewRequestUnderProcess
            | Self::DeploymentInvalidStatusTransition => Reaction::Wait,
            Self::AuthorizationError
            | Self::FieldValueNotFound
            | Self::InvalidJsonInput
            | Self::InvalidPathParam
            | Self::InvalidQueryParam
            | Self::ConnectorAlreadyCertified
            | Self::ConnectorReferenceNotFound
            | Self::ConnectorSpecificationFileNotFound
            | Self::ConnectorSpecificationFileNotValid
            | Self::ConnectorStagedNotPreviewable
            | Self::ConnectorStagedNotPrivate
            | Self::GitRepositoryNotReachable
            | Self::DeploymentApplicationDoNotBelong
            | Self::DeploymentApplicationRequired
            | Self::DeploymentEmptyRequiredGlobalConfigurationKey
            | Self::DeploymentInvalidType
            | Self::DeploymentMissingGlobalConfigurationKey
            | Self::DeploymentProductionDeactivated
            | Self::DeploymentUnknownApplicationConfiguration
            | Self::DeploymentUnknownApplicationConfigurationKey
            | Self::DeploymentUnknownGlobalConfigurationKey
            | Self::DeploymentUnsupportedRegion
            | Self::DeploymentInvalidRetryPolicy
            | Self::DeploymentRetryPolicyOverrideNotAllowed
            | Self::DeploymentRollbackNotAllowed
            | Self::DeploymentApplicationDoesNotExist
            | Self::DeploymentLogInvalidDate
            | Self::DeploymentLogInvalidPageToken
            | Self::DeploymentLogMissingApplicationName => Reaction::Fix,
            Self::Other(_) => return None,
        })
    }
}

/// Why a call gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The service answered with an error; `codes` is empty if its body was not the one of the contract.
    Answered {
        /// HTTP status.
        status: u16,
        /// Codes in the order of the answer, the listed ones first.
        codes: Vec<ErrorCode>,
    },
    /// Nothing was sent: no connection, no token, or its time to be sent was over.
    NotSent,
    /// It was sent, perhaps, and no whole answer came: time-out, broken connection, a body that is too large.
    NoAnswer,
    /// The status says success, but the body cannot be read.
    Unreadable,
    /// The token endpoint refused the client id or secret (RFC 6749 section 5.2).
    CredentialsRefused,
    /// Not asked: this side holds calls back, see [`ApiError::retry_after`].
    HeldBack,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// Name of the operation, as in contract section 5.
    pub operation: &'static str,
    /// What went wrong.
    pub failure: Failure,
    /// For people; at most 1 KiB, masked, without query strings.
    pub message: String,
    /// The service's own number of this answer (`X-Correlation-ID`), to tell its support.
    pub correlation_id: Option<String>,
    /// Nothing is to be sent to this project before that (429 or 503 with `Retry-After`).
    pub retry_after: Option<Duration>,
}

/// What is known of a change whose call failed (contract section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It did not happen.
    None,
    /// It may have happened.
    Unknown,
}

impl ApiError {
    /// What to do: by the first code that the contract lists, else by the HTTP status.
    #[must_use]
    pub fn reaction(&self) -> Reaction {
        match &self.failure {
            Failure::Answered { status, codes } => {
                codes.iter().find_map(ErrorCode::reaction).unwrap_or_else(|| by_status(*status))
            }
            Failure::CredentialsRefused => Reaction::Fix,
            Failure::NotSent | Failure::HeldBack => Reaction::Retry,
            Failure::NoAnswer | Failure::Unreadable => Reaction::Verify,
        }
    }

    /// Whether the change that was asked for may have happened. A definite refusal is an answer below 500, or one
    /// with a listed code that leaves nothing open; everything else is unknown.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match &self.failure {
            Failure::NotSent | Failure::HeldBack | Failure::CredentialsRefused => Effect::None,
            Failure::NoAnswer | Failure::Unreadable => Effect::Unknown,
            Failure::Answered { status, codes } => match codes.iter().find_map(ErrorCode::reaction) {
                Some(Reaction::Retry | Reaction::Verify) if !codes.contains(&ErrorCode::DuplicateField) => {
                    Effect::Unknown
                }
                _ if *status >= 500 || *status == 408 => Effect::Unknown,
                _ => Effect::None,
            },
        }
    }

    /// The first listed code, or the first one at all.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match &self.failure {
            Failure::Answered { codes, .. } => codes.first(),
            _ => None,
        }
    }

    /// HTTP status of the answer, if one came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match &self.failure {
            Failure::Answered { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Reaction where no code is known. 404 without the contract's body proves nothing (a gateway may send it), so it is
/// not `Gone`.
fn by_status(status: u16) -> Reaction {
    match status {
        401 => Reaction::Token,
        408 | 500 => Reaction::Verify,
        409 => Reaction::Refetch,
        404 | 429 | 501.. => Reaction::Retry,
        _ => Reaction::Fix,
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.operation)?;
        match &self.failure {
            Failure::Answered { status, codes } => {
                write!(formatter, " answered {status}")?;
                if let Some(code) = codes.first() {
                    write!(formatter, " {code}")?;
                }
            }
            Failure::NotSent => write!(formatter, " could not be sent")?,
            Failure::NoAnswer => write!(formatter, " got no answer")?,
            Failure::Unreadable => write!(formatter, " got an answer that cannot be read")?,
            Failure::CredentialsRefused => write!(formatter, " got no token")?,
            Failure::HeldBack => write!(formatter, " is held back")?,
        }
        if !self.message.is_empty() {
            write!(formatter, ": {}", self.message)?;
        }
        if let Some(id) = &self.correlation_id {
            write!(formatter, " (correlation id {id})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, codes: &[&str]) -> ApiError {
        ApiError {
            operation: "createDeployment",
            failure: Failure::Answered { status, codes: codes.iter().map(|code| ErrorCode::from(*code)).collect() },
            message: String::new(),
            correlation_id: None,
            retry_after: None,
        }
    }

    #[test]
    fn the_contract_lists_39_codes_and_each_has_a_reaction() {
        assert_eq!(ErrorCode::KNOWN.len(), 39);
        for word in ErrorCode::KNOWN {
            assert!(ErrorCode::from(*word).reaction().is_some(), "{word}");
        }
    }

    #[test]
    fn reactions_and_effects_go_by_the_code_first() {
        use Effect::{None, Unknown};
        for (case, error, reaction, effect) in [
            ("busy", answered(400, &["DeploymentInvalidStatusTransition"]), Reaction::Wait, None),
            (
                "busy, whatever the status",
                answered(500, &["DeploymentInvalidStatusTransition"]),
                Reaction::Wait,
                Unknown,
            ),
            ("conflict", answered(409, &["ConcurrentModification"]), Reaction::Refetch, None),
            ("key taken", answered(400, &["DuplicateField"]), Reaction::Verify, None),
            ("failed after saving, perhaps", answered(400, &["General"]), Reaction::Verify, Unknown),
            (
                "connector could not be moved",
                answered(400, &["DeploymentConnectorUpdateFailure"]),
                Reaction::Verify,
                Unknown,
            ),
            ("undeclared code of a 401", answered(401, &["invalid_token"]), Reaction::Token, None),
            (
                "unknown code first, known one later",
                answered(400, &["Strange", "InvalidJsonInput"]),
                Reaction::Fix,
                None,
            ),
            ("gateway", answered(502, &[]), Reaction::Retry, Unknown),
            ("unavailable", answered(503, &[]), Reaction::Retry, Unknown),
            ("server failed", answered(500, &[]), Reaction::Verify, Unknown),
            ("throttled", answered(429, &[]), Reaction::Retry, None),
            ("a conflict without a code", answered(409, &[]), Reaction::Refetch, None),
            ("not found by a gateway proves nothing", answered(404, &[]), Reaction::Retry, None),
            ("not found by the service", answered(404, &["ResourceNotFound"]), Reaction::Gone, None),
            ("a redirect is not followed", answered(302, &[]), Reaction::Fix, None),
            ("forbidden", answered(403, &["AuthorizationError"]), Reaction::Fix, None),
        ] {
            assert_eq!(error.reaction(), reaction, "{case}");
            assert_eq!(error.effect(), effect, "{case}");
        }
    }

    #[test]
    fn an_error_says_what_the_service_said() {
        let plain = answered(503, &[]);
        assert_eq!(plain.to_string(), "createDeployment answered 503");
        let told =
            ApiError { message: "try later".into(), correlation_id: Some("7".into()), ..answered(400, &["General"]) };
        assert_eq!(told.to_string(), "createDeployment answered 400 General: try later (correlation id 7)");
    }
}
