//! Errors of the API server in the reconcile of a mirror, each with the request that it answers: which of them users
//! can read in a condition. Pure.

use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::refusal::{self, Access};

/// An error of the API server, and the request that it answers.
#[derive(Debug)]
pub struct RequestError {
    access: Access,
    /// Verb and object, such as `create Connector shop.tax`.
    request: String,
    pub(super) error: kube::Error,
}

/// Adds the request to its error.
pub(super) trait OfRequest<T> {
    /// The error of a request that reads.
    fn reading(self, request: &str) -> Result<T, RequestError>;

    /// The error of a request that writes this Connector.
    fn writing(self, verb: &str, name: &str) -> Result<T, RequestError>;
}

impl<T> OfRequest<T> for Result<T, kube::Error> {
    fn reading(self, request: &str) -> Result<T, RequestError> {
        self.map_err(|error| RequestError { access: Access::Read, request: request.to_owned(), error })
    }

    fn writing(self, verb: &str, name: &str) -> Result<T, RequestError> {
        self.map_err(|error| RequestError { access: Access::Write, request: format!("{verb} Connector {name}"), error })
    }
}

impl RequestError {
    /// Returns the condition that reports the error; `None`: it passes by itself.
    #[must_use]
    pub fn condition(self) -> Option<ConditionUpdate> {
        let Self { access, request, error } = self;
        match refusal::condition(access, &request, error) {
            Ok(condition) => Some(condition),
            // Not an object that was deleted meanwhile, which is created again: kind or namespace do not exist.
            Err(kube::Error::Api(status)) if status.code == 404 => Some(refusal::refused(&request, &status)),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::controllers::reporting::reason::Reason;

    fn answered(code: u16) -> Result<(), kube::Error> {
        Err(kube::Error::Api(Box::new(Status::failure("no", "Forbidden").with_code(code))))
    }

    #[test]
    fn what_does_not_pass_by_itself_is_reported_with_its_request() {
        for (case, code, read, write) in [
            ("not valid", 400, true, true),
            ("an account that is not known", 401, true, true),
            ("no right, or a quota", 403, true, true),
            ("no such kind", 404, true, true),
            ("a method that a proxy does not allow", 405, true, true),
            ("changed meanwhile", 409, false, false),
            ("too large", 413, true, true),
            ("a webhook says no", 422, true, true),
            ("too many requests", 429, false, false),
            ("a webhook that cannot be asked", 500, false, true),
            ("overloaded", 503, false, false),
            ("too slow", 504, false, false),
        ] {
            for (error, is_reported, request) in [
                (answered(code).reading("list Connectors"), read, "list Connectors"),
                (answered(code).writing("create", "shop.tax"), write, "create Connector shop.tax"),
            ] {
                let condition = error.expect_err(case).condition();
                let expected = format!("The Kubernetes API server refused to {request}: no");
                assert_eq!(
                    condition.map(|it| (it.reason, it.message)),
                    is_reported.then_some((Reason::KubernetesError, expected)),
                    "{case}"
                );
            }
        }
        let lost = Err::<(), _>(kube::Error::LinesCodecMaxLineLengthExceeded).writing("create", "shop.tax");
        assert!(lost.expect_err("no answer").condition().is_none());
    }
}
