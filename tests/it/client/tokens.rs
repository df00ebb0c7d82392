//! One token for each lifetime, one for each refused token, and no others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use connect_api::error::Reaction;
use connect_api::http::ASSUMED_LIFE;
use futures::future::join_all;
use secrecy::SecretString;
use tokio::sync::Barrier;

use super::remote::{
    ReceivedRequest, Remote, answer, deployment, error_answer, id, json_answer, later, stepped, token,
};
use crate::prelude::*;

fn found(_: ReceivedRequest) -> axum::response::Response {
    json_answer(200, &deployment("42"))
}

async fn calls(api: &HttpConnect, number: usize) -> Vec<Result<bool, Failure>> {
    let id = id();
    let outcomes = join_all((0..number).map(|_| api.deployment(&id))).await;
    outcomes.into_iter().map(|outcome| outcome.map(|found| found.is_some()).map_err(|error| error.failure)).collect()
}

#[tokio::test]
async fn a_request_for_a_token_is_that_of_the_standard() {
    for (scopes, body) in [
        (None, "grant_type=client_credentials"),
        (Some("manage_project:demo view_x"), "grant_type=client_credentials&scope=manage_project%3Ademo+view_x"),
    ] {
        let remote = Remote::start(found).await;
        let api = remote.client_with(Clock::system(), |settings| {
            settings.credentials.client_id = "dev client".to_owned();
            settings.credentials.client_secret = "s:e%c r\u{e9}t".into();
            settings.credentials.scopes = scopes.map(str::to_owned);
        });
        assert_eq!(api.scopes(), None);
        assert_eq!(calls(&api, 1).await, [Ok(true)]);
        let tokens = remote.tokens();
        let seen = &tokens[0];
        assert_eq!((seen.line.as_str(), seen.body.as_str()), ("POST /oauth/token", body));
        assert_eq!(seen.header("content-type"), "application/x-www-form-urlencoded");
        let basic = STANDARD.encode("dev+client:s%3Ae%25c+r%C3%A9t");
        assert_eq!(seen.header("authorization"), format!("Basic {basic}"));
        assert_eq!(api.scopes(), Some(vec!["manage_project:demo".to_owned(), "view_x".to_owned()]));
    }
}

#[tokio::test]
async fn an_answer_without_scope_means_the_requested_scopes() {
    let remote =
        Remote::start_slow(later(found), later(|_| json_answer(200, &json!({"access_token": "token-1"})))).await;
    let api = remote.client_with(Clock::system(), |settings| settings.credentials.scopes = Some("a b".to_owned()));
    assert_eq!(calls(&api, 1).await, [Ok(true)]);
    assert_eq!(api.scopes(), Some(vec!["a".to_owned(), "b".to_owned()]));
}

#[tokio::test]
async fn tokens_live_until_shortly_before_their_end_by_the_injected_clock() {
    for (case, expires_in, renewed_after) in [
        ("an hour: a minute before", json!(3600), Duration::from_mins(59)),
        ("five minutes: a tenth before", json!(300), Duration::from_secs(270)),
        ("missing", json!(null), ASSUMED_LIFE.saturating_sub(Duration::from_mins(1))),
    ] {
        let remote = Remote::start_slow(
            later(found),
            later(move |seen| {
                json_answer(
                    200,
                    &json!({"access_token": format!("token-{}", seen.before + 1), "expires_in": expires_in}),
                )
            }),
        )
        .await;
        let (clock, _) = stepped();
        let api = remote.client_with(clock.clone(), |_| {});
        assert_eq!(calls(&api, 1).await, [Ok(true)]);
        clock.step(renewed_after.saturating_sub(Duration::from_millis(1)));
        assert_eq!(calls(&api, 1).await, [Ok(true)]);
        assert_eq!(remote.tokens().len(), 1, "{case}");
        clock.step(Duration::from_millis(1));
        assert_eq!(calls(&api, 3).await, vec![Ok(true); 3]);
        let used: Vec<_> = remote.seen().iter().map(ReceivedRequest::token).collect();
        assert_eq!((remote.tokens().len(), used), (2, vec![1, 1, 2, 2, 2]), "{case}");
    }
}

#[tokio::test]
async fn an_old_token_is_used_to_its_end_if_it_cannot_be_renewed() {
    let remote =
        Remote::start_slow(later(found), later(|seen| if seen.before == 0 { token(1) } else { answer(503, "") })).await;
    let (clock, _) = stepped();
    let api = remote.client_with(clock.clone(), |_| {});
    assert_eq!(calls(&api, 1).await, [Ok(true)]);
    clock.step(Duration::from_secs(3550));
    assert_eq!(calls(&api, 2).await, [Ok(true), Ok(true)]);
    assert_eq!(calls(&api, 1).await, [Ok(true)]);
    assert_eq!(remote.tokens().len(), 2, "one attempt only");
    clock.step(Duration::from_secs(50));
    assert_eq!(calls(&api, 1).await, [Err(Failure::NotSent)]);
}

#[tokio::test]
async fn a_hundred_calls_share_one_token_and_a_hundred_refusals_one_renewal() {
    let all = Arc::new(Barrier::new(100));
    let remote = Remote::start_slow(
        Arc::new(move |seen| {
            let all = Arc::clone(&all);
            Box::pin(async move {
                if seen.token() == 1 {
                    // The refusal comes only when all of them are in progress.
                    all.wait().await;
                    return error_answer(401, "invalid_token", "expired");
                }
                found(seen)
            })
        }),
        later(|seen| token(seen.before + 1)),
    )
    .await;
    assert_eq!(calls(&remote.client(), 100).await, vec![Ok(true); 100]);
    assert_eq!((remote.tokens().len(), remote.seen().len()), (2, 200));
}

#[tokio::test]
async fn a_call_is_repeated_once_and_only_for_its_token() {
    for (case, status, code, sent) in [
        ("401, undeclared code", 401, "invalid_token", 2),
        ("401, another code", 401, "General", 2),
        ("the code, another status", 400, "AuthenticationError", 2),
        ("the code, but a failure that leaves it open", 500, "AuthenticationError", 1),
        ("403", 403, "AuthorizationError", 1),
        ("500", 500, "General", 1),
    ] {
        let remote = Remote::start(move |_| error_answer(status, code, "no")).await;
        let error = remote.client().deployment(&id()).await.expect_err(case);
        assert_eq!((error.status(), remote.seen().len(), remote.tokens().len()), (Some(status), sent, sent), "{case}");
    }
}

#[tokio::test]
async fn refused_credentials_are_one_attempt_for_all_who_wait() {
    for status in [400, 401] {
        let remote = Remote::start_slow(
            later(found),
            later(move |_| {
                json_answer(status, &json!({"error": "invalid_client", "error_description": "no such client"}))
            }),
        )
        .await;
        let api = remote.client();
        assert_eq!(calls(&api, 50).await, vec![Err(Failure::CredentialsRefused); 50]);
        assert_eq!((remote.tokens().len(), remote.seen().len()), (1, 0));
        let error = api.deployment(&id()).await.expect_err("refused");
        assert_eq!((error.reaction(), error.operation), (Reaction::Fix, "getDeploymentById"));
        assert!(error.message.contains("no such client"), "{}", error.message);
    }
}

#[tokio::test]
async fn refused_credentials_with_invisible_characters_are_named_without_their_values() {
    let hint = "begins or ends with white space or another invisible character";
    for (case, client_id, client_secret, expected) in [
        ("none", "client", "the-secret", vec![]),
        ("a byte order mark", "client", "\u{feff}the-secret", vec!["client secret"]),
        ("a space without width", "client\u{200b}", "the-secret", vec!["client id"]),
        ("both", " client", "the-secret\n", vec!["client id", "client secret"]),
    ] {
        let refuses =
            later(|_| json_answer(401, &json!({"error": "invalid_client", "error_description": "no: the-secret"})));
        let remote = Remote::start_slow(later(found), refuses).await;
        let api = remote.client_with(Clock::system(), |settings| {
            settings.credentials.client_id = client_id.to_owned();
            settings.credentials.client_secret = SecretString::from(client_secret);
        });
        let message = api.deployment(&id()).await.expect_err(case).message;
        assert_eq!(message.matches(hint).count(), expected.len(), "{case}: {message}");
        for part in expected {
            assert!(message.contains(&format!("The {part} {hint}")), "{case}: {message}");
        }
        assert!(!message.contains("the-secret"), "{case}: {message}");
    }
}
