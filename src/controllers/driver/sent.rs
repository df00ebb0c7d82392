//! Describes a call that was sent, for its Event and the log. Pure.

use std::fmt;

use super::operations::{CallResult, Response};

/// A call that changes something at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCall {
    /// What it asks for, such as `redeploy`.
    pub operation: &'static str,
    /// The kind of the record.
    pub record: &'static str,
    /// Key of the record.
    pub key: String,
    /// The record before the call; `None`: it did not exist, or is not known.
    pub before: Option<Versions>,
    /// The record in the response; `None`: it has none.
    pub after: Option<Versions>,
}

/// The versions of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Its own version.
    pub record: i64,
    /// The version of the connector that it runs; `None`: it runs none.
    pub connector: Option<i64>,
}

impl SentCall {
    /// Returns what to report about the call; `None`: nothing was sent, or the service refused it.
    pub(super) fn note<A, R>(&self, result: &CallResult<A, R>) -> Option<String> {
        match (&result.response, &result.error) {
            (Response::Accepted(_), _) => Some(self.to_string()),
            (Response::Unknown, Some(_)) => {
                Some(format!("{self}; no usable response arrived, so the operator polls for the result"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for SentCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, record, key, before, after } = self;
        write!(formatter, "Sent the {operation} of {record} {key}")?;
        let change = change(before.map(|it| it.record), after.map(|it| it.record));
        if let Some(change) = change {
            write!(formatter, ": version {change}")?;
        }
        let connectors = (before.and_then(|it| it.connector), after.and_then(|it| it.connector));
        match connectors {
            (Some(from), Some(to)) if from != to => write!(formatter, ", connector version {from} → {to}"),
            _ => Ok(()),
        }
    }
}

fn change(before: Option<i64>, after: Option<i64>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) if before != after => Some(format!("{before} → {after}")),
        (only, None) | (_, only) => only.map(|only| only.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use connect_api::ApiError;
    use connect_api::error::Failure;

    use super::*;

    fn versions(record: i64, connector: i64) -> Versions {
        Versions { record, connector: Some(connector) }
    }

    #[test]
    fn a_sent_call_names_the_record_and_its_versions() {
        let redeploy =
            SentCall { operation: "redeploy", record: "deployment", key: "shop_tax".into(), before: None, after: None };
        let plain = |record| Some(Versions { record, connector: None });
        for (case, before, after, expected) in [
            (
                "a redeploy",
                Some(versions(2, 7)),
                Some(versions(3, 7)),
                "Sent the redeploy of deployment shop_tax: version 2 → 3",
            ),
            (
                "another connector",
                Some(versions(2, 7)),
                Some(versions(3, 8)),
                "Sent the redeploy of deployment shop_tax: version 2 → 3, connector version 7 → 8",
            ),
            ("a new record", None, Some(versions(1, 7)), "Sent the redeploy of deployment shop_tax: version 1"),
            (
                "no record in the response",
                Some(versions(2, 7)),
                None,
                "Sent the redeploy of deployment shop_tax: version 2",
            ),
            ("no connector", plain(2), plain(4), "Sent the redeploy of deployment shop_tax: version 2 → 4"),
            (
                "the same version",
                Some(versions(2, 7)),
                Some(versions(2, 7)),
                "Sent the redeploy of deployment shop_tax: version 2",
            ),
            ("nothing known", None, None, "Sent the redeploy of deployment shop_tax"),
        ] {
            assert_eq!(SentCall { before, after, ..redeploy.clone() }.to_string(), expected, "{case}");
        }
    }

    #[test]
    fn only_calls_that_may_have_arrived_are_reported() {
        let call = SentCall { operation: "create", record: "deployment", key: "tax".into(), before: None, after: None };
        let error = || ApiError {
            operation: "createDeployment",
            failure: Failure::NoAnswer,
            message: String::new(),
            correlation_id: None,
            retry_after: None,
        };
        for (case, response, error, expected) in [
            ("accepted", Response::Accepted(()), None, Some("Sent the create of deployment tax")),
            ("lost", Response::Unknown, Some(error()), Some("Sent the create of deployment tax; no usable response")),
            ("an earlier attempt may have created it", Response::Unknown, None, None),
            ("refused", Response::Refused, Some(error()), None),
            ("to be retried", Response::Retryable, Some(error()), None),
            ("the key exists", Response::Duplicate, None, None),
            ("gone", Response::NotFound, None, None),
        ] {
            let result = CallResult::<(), ()> { response, record: None, error };
            let note = call.note(&result);
            assert_eq!(note.is_some(), expected.is_some(), "{case}: {note:?}");
            assert!(note.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{case}");
        }
    }
}
