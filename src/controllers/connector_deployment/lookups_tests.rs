use std::sync::Mutex;

use connect_api::api::Answer;
use connect_api::commerce::ResourceKind;
use connect_api::model::Destination;

use super::*;

const INTERVAL: Duration = Duration::from_mins(5);
const START: Timestamp = Timestamp::UNIX_EPOCH;

/// Returns the time that many seconds after the start.
fn at(seconds: u64) -> Timestamp {
    later(START, Duration::from_secs(seconds))
}

fn failure(failure: Failure) -> ApiError {
    ApiError { operation: "test", failure, message: String::new(), correlation_id: None, retry_after: None }
}

fn answered(status: u16) -> ApiError {
    failure(Failure::Answered { status, codes: Vec::new() })
}

/// Answers with these, one after the other.
struct Answers(Mutex<Vec<Result<Option<Destination>, ApiError>>>);

impl CommerceApi for Answers {
    fn destination<'a>(&'a self, _: &'a ResourceName) -> Answer<'a, Option<Destination>> {
        let answer = self.0.lock().expect("no test panics while it holds the answers").remove(0);
        Box::pin(async move { answer })
    }
}

fn lookup(answers: Vec<Result<Option<Destination>, ApiError>>) -> Lookup {
    let name = |key: &str| ResourceName { kind: ResourceKind::Extension, key: key.to_owned() };
    Lookup { client: Arc::new(Answers(Mutex::new(answers))), resources: vec![name("one"), name("two")] }
}

fn extension() -> Destination {
    Destination { kind: "HTTP".into(), url: Some("https://a.test".into()), ..Destination::default() }
}

fn broken() -> Result<Option<Destination>, ApiError> {
    Err(answered(503))
}

/// Returns one letter for each observation.
fn letters(found: &[Found]) -> String {
    found
        .iter()
        .map(|found| match found {
            Found::There(_) => 't',
            Found::Absent => 'a',
            Found::Forbidden => 'f',
            Found::CredentialsRefused(_) => 'c',
            Found::Unreadable(_) => 'u',
        })
        .collect()
}

#[tokio::test]
async fn rule_17_each_answer_is_an_observation_and_a_service_that_fails_is_not_asked_again() {
    let refused = || Err(failure(Failure::CredentialsRefused));
    for (case, answers, expected) in [
        ("both are there", vec![Ok(Some(extension())), Ok(Some(extension()))], "tt"),
        ("one is missing", vec![Ok(Some(extension())), Ok(None)], "ta"),
        ("one may not be read", vec![Err(answered(403)), Ok(Some(extension()))], "ft"),
        ("other credentials", vec![refused()], "cc"),
        ("no answer", vec![broken()], "uu"),
        ("no answer for the second", vec![Ok(Some(extension())), broken()], "tu"),
    ] {
        let seen = lookup(answers).run(None, &Clock::stepped(at(7))).await;
        assert_eq!((letters(&seen.found).as_str(), seen.at), (expected, at(7)), "{case}");
        assert_eq!(seen.failed, expected.contains('u'), "{case}");
    }
}

#[tokio::test]
async fn rule_17_a_failed_lookup_changes_no_earlier_result() {
    let clock = Clock::stepped(START);
    let first = lookup(vec![Ok(Some(extension())), Ok(None), broken(), broken(), Ok(None), Ok(None)]);
    let mut seen = first.clone().run(None, &clock).await;
    for (case, expected, failed) in [("fails", "ta", true), ("fails again", "ta", true), ("works", "aa", false)] {
        seen = first.clone().run(Some(seen), &clock).await;
        assert_eq!((letters(&seen.found).as_str(), seen.failed), (expected, failed), "{case}");
    }
    assert!(seen.counts(&first, START));
    assert!(!seen.counts(&first, at(1)), "from before an operation");
    assert!(!seen.counts(&lookup(Vec::new()), START), "another client");
    let fewer = Lookup { resources: first.resources[..1].to_vec(), ..first };
    assert!(!seen.counts(&fewer, START), "other resources");
}

#[tokio::test]
async fn rule_17_unverified_resources_are_looked_up_with_growing_pauses_and_verified_ones_at_the_interval() {
    let mut seen = lookup(vec![Ok(Some(extension())), Ok(Some(extension()))]).run(None, &Clock::stepped(START)).await;
    for (case, since, failed, now, expected) in [
        ("verified", None, false, 0, 300),
        ("a new operation", Some(0), false, 1, 10),
        ("a minute later", Some(0), false, 60, 60),
        ("long after", Some(0), false, 9_000, 300),
        ("a failure", None, true, 0, 60),
        ("a failure right after an operation", Some(0), true, 1, 10),
    ] {
        seen.failed = failed;
        seen.schedule(INTERVAL, since.map(at), at(now));
        assert_eq!(between(at(now), seen.due).as_secs(), expected, "{case}");
    }
}
