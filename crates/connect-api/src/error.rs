//! Errors of API calls, classified by error code first and by HTTP status if no code is known (contract section 8).
//!
//! No code here decides by a message text. Texts of the service are the user's data: they are truncated and masked
//! before they become an [`ApiError`] (see [`super::api`]). See `operator/reporting/problem.rs` for how controllers handle
//! these errors.

use std::fmt;
use std::time::Duration;

use crate::open_enum;

open_enum! {
    /// The codes of contract section 8.2, spelled as the service spells them.
    ErrorCode {
        /// The service does not know the caller.
        AuthenticationError = "AuthenticationError",
        /// The caller lacks a permission.
        AuthorizationError = "AuthorizationError",
        /// The service is scaling.
        BadGateway = "BadGateway",
        /// The version that was sent is not the current one.
        ConcurrentModification = "ConcurrentModification",
        /// The value is already in use.
        DuplicateField = "DuplicateField",
        /// The value references something that does not exist.
        FieldValueNotFound = "FieldValueNotFound",
        /// The server failed, either before or after saving.
        General = "General",
        /// The body is not JSON or has the wrong structure.
        InvalidJsonInput = "InvalidJsonInput",
        /// A part of the path is invalid.
        InvalidPathParam = "InvalidPathParam",
        /// A query parameter is invalid.
        InvalidQueryParam = "InvalidQueryParam",
        /// No resource exists at this path.
        ResourceNotFound = "ResourceNotFound",
        /// Publishing with certification was requested for a connector that is already certified.
        ConnectorAlreadyCertified = "ConnectorAlreadyCertified",
        /// The connector does not exist, or not in that version.
        ConnectorReferenceNotFound = "ConnectorReferenceNotFound",
        /// The tag has no `connect.yaml`.
        ConnectorSpecificationFileNotFound = "ConnectorSpecificationFileNotFound",
        /// The `connect.yaml` of the tag is invalid.
        ConnectorSpecificationFileNotValid = "ConnectorSpecificationFileNotValid",
        /// Publishing with certification was requested for a connector that is already in certification.
        ConnectorStagedInCertification = "ConnectorStagedInCertification",
        /// The staged connector has no preview permission.
        ConnectorStagedNotPreviewable = "ConnectorStagedNotPreviewable",
        /// A list of projects was sent for a connector that is not private.
        ConnectorStagedNotPrivate = "ConnectorStagedNotPrivate",
        /// Preview permission was requested again while a request is in process.
        ConnectorStagedPreviewRequestUnderProcess = "ConnectorStagedPreviewRequestUnderProcess",
        /// The repository or the tag is not reachable.
        GitRepositoryNotReachable = "GitRepositoryNotReachable",
        /// The values name an application that is not part of the deployment.
        DeploymentApplicationDoNotBelong = "DeploymentApplicationDoNotBelong",
        /// No application was given.
        DeploymentApplicationRequired = "DeploymentApplicationRequired",
        /// The redeploy could not update the deployment to the newer connector.
        DeploymentConnectorUpdateFailure = "DeploymentConnectorUpdateFailure",
        /// A required global variable has an empty value.
        DeploymentEmptyRequiredGlobalConfigurationKey = "DeploymentEmptyRequiredGlobalConfigurationKey",
        /// The deployment is Queued, Deploying or Undeploying.
        DeploymentInvalidStatusTransition = "DeploymentInvalidStatusTransition",
        /// The deployment type does not fit the connector.
        DeploymentInvalidType = "DeploymentInvalidType",
        /// A required global variable is missing.
        DeploymentMissingGlobalConfigurationKey = "DeploymentMissingGlobalConfigurationKey",
        /// The project must not deploy to production.
        DeploymentProductionDeactivated = "DeploymentProductionDeactivated",
        /// The values name an application that `connect.yaml` does not declare.
        DeploymentUnknownApplicationConfiguration = "DeploymentUnknownApplicationConfiguration",
        /// The values name a variable that `connect.yaml` does not declare.
        DeploymentUnknownApplicationConfigurationKey = "DeploymentUnknownApplicationConfigurationKey",
        /// The values name a global variable that the connector does not declare.
        DeploymentUnknownGlobalConfigurationKey = "DeploymentUnknownGlobalConfigurationKey",
        /// The region is not supported for this deployment.
        DeploymentUnsupportedRegion = "DeploymentUnsupportedRegion",
        /// A retry policy is invalid.
        DeploymentInvalidRetryPolicy = "DeploymentInvalidRetryPolicy",
        /// The retry policy of this application must not be overridden.
        DeploymentRetryPolicyOverrideNotAllowed = "DeploymentRetryPolicyOverrideNotAllowed",
        /// The deployment cannot be rolled back to an earlier revision.
        DeploymentRollbackNotAllowed = "DeploymentRollbackNotAllowed",
        /// Logs were requested for an application that the connector does not have.
        DeploymentApplicationDoesNotExist = "DeploymentApplicationDoesNotExist",
        /// The start or end of the log request is invalid.
        DeploymentLogInvalidDate = "DeploymentLogInvalidDate",
        /// The page token of the log request is invalid.
        DeploymentLogInvalidPageToken = "DeploymentLogInvalidPageToken",
        /// Logs of a deployment on AWS were requested without naming an application.
        DeploymentLogMissingApplicationName = "DeploymentLogMissingApplicationName",
    }
}

/// How a caller reacts to an error (contract section 8.2, column *Reaction*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Send the same request again with increasing pauses; before repeating a create, look up the key.
    Retry,
    /// The change may have happened: read the resource first, then decide again.
    Verify,
    /// Read the resource, decide again, and send with the version just read.
    Refetch,
    /// Wait until the status of the resource changes.
    Wait,
    /// Fetch a new token once; if the error repeats, a user has to act.
    Token,
    /// Treat the resource as absent.
    Gone,
    /// Stop until the input, the credentials or the settings of the remote change.
    Fix,
}

impl ErrorCode {
    /// Returns the reaction to this code, or `None` for a code that the contract does not list.
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
            Self::Other(_) => return None,
            _ => Reaction::Fix,
        })
    }
}

/// Why a call returned no usable result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The service returned an error. `codes` is empty if the body did not match the contract.
    Answered {
        /// HTTP status.
        status: u16,
        /// Error codes in the order of the response, known codes first.
        codes: Vec<ErrorCode>,
    },
    /// The request was not sent: no connection, no token, or its `send_before` time had passed.
    NotSent,
    /// The request may have been sent, but no complete response arrived: a timeout, a broken connection, or a body that
    /// exceeds the limit.
    NoAnswer,
    /// The status reports success, but the body cannot be decoded.
    Unreadable,
    /// The token endpoint refused the client id or secret (RFC 6749 section 5.2).
    CredentialsRefused,
    /// The call was held back on this side and not sent, see [`ApiError::retry_after`].
    HeldBack,
}

/// The error of a failed API call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// Name of the operation, as in contract section 5.
    pub operation: &'static str,
    /// The kind of failure.
    pub failure: Failure,
    /// Message for users: at most 1 KiB, masked, without query strings.
    pub message: String,
    /// The service's id of this response (`X-Correlation-ID`), to quote in a support request.
    pub correlation_id: Option<String>,
    /// Pause before the next request to this project (429 or 503 with `Retry-After`).
    pub retry_after: Option<Duration>,
}

/// What is known about the effect of a change whose call failed (contract section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The change did not happen.
    None,
    /// The change may have happened.
    Unknown,
}

impl ApiError {
    /// Creates the error of a call without a response.
    pub(crate) fn of(operation: &'static str, failure: Failure, message: impl Into<String>) -> Self {
        Self { operation, failure, message: message.into(), correlation_id: None, retry_after: None }
    }

    /// Returns the reaction: by the first code that the contract lists, otherwise by the HTTP status.
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

    /// Returns whether the requested change may have happened. It certainly did not if nothing was sent, and after a
    /// status below 500 (except 408) unless a listed code leaves the effect open; otherwise the effect is unknown.
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

    /// Returns how to react to a changing call that failed: [`Reaction::Verify`] if the change may have happened. A gateway may
    /// send a request twice and pass the second answer on; then `DuplicateField` and `ConcurrentModification` answer the second one.
    pub fn reaction_to_change(&self) -> Reaction {
        let is_repeated = matches!(self.code(), Some(ErrorCode::DuplicateField | ErrorCode::ConcurrentModification));
        if self.effect() == Effect::Unknown || is_repeated { Reaction::Verify } else { self.reaction() }
    }

    /// Returns whether the call was held back on this side. That says nothing about how this call would be answered: another
    /// one failed, or the service asked for a pause.
    pub fn is_held_back(&self) -> bool {
        self.failure == Failure::HeldBack
    }

    /// Returns the first listed code, or the first code of the response if none is listed.
    pub fn code(&self) -> Option<&ErrorCode> {
        match &self.failure {
            Failure::Answered { codes, .. } => codes.first(),
            _ => None,
        }
    }

    /// Returns the HTTP status of the response, if one arrived.
    pub fn status(&self) -> Option<u16> {
        match &self.failure {
            Failure::Answered { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns what happened and the message, without operation and correlation id, for a message that contains it.
    pub fn without_ids(&self) -> String {
        let mut text = match &self.failure {
            Failure::Answered { status, codes } => match codes.first() {
                Some(code) => format!("the service answered {status} {code}"),
                None => format!("the service answered {status}"),
            },
            Failure::NotSent => "the request could not be sent".to_owned(),
            Failure::NoAnswer => "the request got no answer".to_owned(),
            Failure::Unreadable => "the answer of the service cannot be read".to_owned(),
            Failure::CredentialsRefused => "the request got no token".to_owned(),
            Failure::HeldBack => "the request is held back".to_owned(),
        };
        if !self.message.is_empty() {
            text = format!("{text}: {}", self.message);
        }
        text
    }
}

/// Returns the reaction to a response without a known code. A 404 without the contract's body proves nothing, because a
/// gateway may have sent it; it is therefore not [`Reaction::Gone`].
fn by_status(status: u16) -> Reaction {
    match status {
        401 => Reaction::Token,
        408 | 500 => Reaction::Verify,
        409 => Reaction::Refetch,
        404 | 429 | 501.. => Reaction::Retry,
        _ => Reaction::Fix,
    }
}

/// What happened comes first, and what only a support request or the contract explains last.
impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}", self.without_ids(), self.operation)?;
        if let Some(id) = &self.correlation_id {
            write!(formatter, ", correlation id {id}")?;
        }
        write!(formatter, ")")
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
            ("busy, 500", answered(500, &["DeploymentInvalidStatusTransition"]), Reaction::Wait, Unknown),
            ("conflict", answered(409, &["ConcurrentModification"]), Reaction::Refetch, None),
            ("key taken", answered(400, &["DuplicateField"]), Reaction::Verify, None),
            ("failed after saving, perhaps", answered(400, &["General"]), Reaction::Verify, Unknown),
            ("cannot be moved", answered(400, &["DeploymentConnectorUpdateFailure"]), Reaction::Verify, Unknown),
            ("undeclared code of a 401", answered(401, &["invalid_token"]), Reaction::Token, None),
            ("unknown code, known one later", answered(400, &["Strange", "InvalidJsonInput"]), Reaction::Fix, None),
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
    fn an_error_begins_with_what_happened_and_ends_with_the_ids() {
        let service = answered(400, &["General"]);
        for (failure, expected) in [
            (answered(503, &[]).failure, "the service answered 503"),
            (service.failure, "the service answered 400 General"),
            (Failure::NotSent, "the request could not be sent"),
            (Failure::NoAnswer, "the request got no answer"),
            (Failure::Unreadable, "the answer of the service cannot be read"),
            (Failure::CredentialsRefused, "the request got no token"),
            (Failure::HeldBack, "the request is held back"),
        ] {
            let plain = ApiError { failure, ..answered(503, &[]) };
            assert_eq!(plain.to_string(), format!("{expected} (createDeployment)"));
            let detailed = ApiError { message: "try later".into(), correlation_id: Some("7".into()), ..plain };
            let expected = format!("{expected}: try later (createDeployment, correlation id 7)");
            assert_eq!(detailed.to_string(), expected);
            assert_eq!(format!("{} (createDeployment, correlation id 7)", detailed.without_ids()), expected);
        }
    }
}
