//! Describes a call that was sent, for its Event and the log. Pure.

use connect_api::model::Deployment as Record;

use super::super::act::Done;
use super::super::decide::{CallKind, Response};

/// Returns what to report about a call to the deployment with this key; `None`: nothing was sent, or the service refused it.
/// `before`: the record before the call.
pub(super) fn note(call: CallKind, key: &str, before: Option<&Record>, done: &Done) -> Option<String> {
    let lost = match (&done.response, &done.error) {
        (Response::Accepted(_), _) => "",
        (Response::Unknown, Some(_)) => "; no usable response arrived, so the operator polls for the result",
        _ => return None,
    };
    let operation = match call {
        CallKind::Create => "create",
        CallKind::Redeploy | CallKind::Move => "redeploy",
        CallKind::Undeploy | CallKind::Recreate => "undeploy",
    };
    let versions = |record: &Record| (record.version, record.connector.version);
    let versions = described(before.map(versions), done.record.as_ref().map(versions));
    Some(format!("Sent the {operation} of deployment {key}{versions}{lost}"))
}

/// Describes the versions of a record and of the connector that it runs, before a call and in its response.
fn described(before: Option<(i64, i64)>, after: Option<(i64, i64)>) -> String {
    let change = |before, after| if before == after { format!("{after}") } else { format!("{before} → {after}") };
    match (before, after) {
        (Some((before, from)), Some((after, to))) => {
            let connector = if from == to { String::new() } else { format!(", connector version {from} → {to}") };
            format!(": version {}{connector}", change(before, after))
        }
        (Some((only, _)), None) | (None, Some((only, _))) => format!(": version {only}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use connect_api::error::Failure;

    use super::super::super::decide::Accepted;
    use super::super::super::persisted::Phase;
    use super::*;
    use crate::operator::testing::failure;

    #[test]
    fn a_sent_call_names_the_record_and_its_versions() {
        for (case, before, after, expected) in [
            ("a redeploy", Some((2, 7)), Some((3, 7)), ": version 2 → 3"),
            ("another connector", Some((2, 7)), Some((3, 8)), ": version 2 → 3, connector version 7 → 8"),
            ("a new record", None, Some((1, 7)), ": version 1"),
            ("no record in the response", Some((2, 7)), None, ": version 2"),
            ("the same version", Some((2, 7)), Some((2, 7)), ": version 2"),
            ("nothing known", None, None, ""),
        ] {
            assert_eq!(described(before, after), expected, "{case}");
        }
    }

    #[test]
    fn only_calls_that_may_have_arrived_are_reported() {
        let error = || failure(Failure::NoAnswer);
        let accepted = Response::Accepted(Accepted { id: "one".to_owned(), phase: Phase::Queued });
        for (case, response, error, expected) in [
            ("accepted", accepted, None, Some("Sent the create of deployment tax")),
            ("lost", Response::Unknown, Some(error()), Some("Sent the create of deployment tax; no usable response")),
            ("an earlier attempt may have created it", Response::Unknown, None, None),
            ("refused", Response::Refused, Some(error()), None),
            ("to be retried", Response::Retryable, Some(error()), None),
            ("the key exists", Response::Duplicate, None, None),
            ("gone", Response::NotFound, None, None),
        ] {
            let done = Done { response, record: None, error };
            let note = note(CallKind::Create, "tax", None, &done);
            assert_eq!(note.is_some(), expected.is_some(), "{case}: {note:?}");
            assert!(note.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{case}");
        }
    }
}
