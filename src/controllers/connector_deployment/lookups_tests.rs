use std::sync::Mutex;

use connect_api::api::Answer;
use connect_api::commerce::ResourceKind;
use connect_api::model::Destination;

use super::*;

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

async fn looked_up(answers: Vec<Result<Option<Destination>, ApiError>>) -> Vec<Found> {
    let name = |key: &str| ResourceName { kind: ResourceKind::Extension, key: key.to_owned() };
    look_up(&Answers(Mutex::new(answers)), &[name("one"), name("two")]).await
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
        assert_eq!(letters(&looked_up(answers).await), expected, "{case}");
    }
}

#[test]
fn rule_17_unverified_resources_are_looked_up_with_growing_pauses_and_verified_ones_at_the_interval() {
    for (case, unverified_for, failed, expected) in [
        ("verified", None, false, 300),
        ("a new operation", Some(1), false, 10),
        ("a minute later", Some(60), false, 60),
        ("long after", Some(9_000), false, 300),
        ("a failure", None, true, 60),
        ("a failure right after an operation", Some(1), true, 10),
    ] {
        let pause = pause(Duration::from_mins(5), unverified_for.map(Duration::from_secs), failed);
        assert_eq!(pause.as_secs(), expected, "{case}");
    }
}
