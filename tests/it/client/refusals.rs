//! Answers with an error status.

use super::remote::{Remote, answer, draft, id, json_answer, no_hurry, with_header};
use crate::prelude::*;

#[tokio::test]
async fn without_an_id_in_the_answer_the_sent_one_is_kept() {
    let remote = Remote::start(|_| answer(502, "<html>")).await;
    let error = remote.client().deployment(&id()).await.expect_err("502");
    assert_eq!(error.correlation_id.as_deref(), Some(remote.seen()[0].header("x-correlation-id")));
}

#[tokio::test]
async fn redirects_are_errors_and_nothing_is_sent_to_where_they_lead() {
    let other = Remote::start(|_| json_answer(200, &super::remote::deployment("42"))).await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("{}/demo/deployments/42", other.url());
        let remote = Remote::start(move |_| with_header(answer(status, ""), "location", &target)).await;
        let api = remote.client();
        for error in [
            api.deployment(&id()).await.map(drop).expect_err("a redirect"),
            api.create(&draft("s"), no_hurry()).await.map(drop).expect_err("a redirect"),
        ] {
            assert_eq!(error.failure, Failure::Answered { status, codes: Vec::new() });
            assert_eq!(error.message, "redirects are not followed: correct the URL");
        }
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_of_the_token_endpoint_is_not_followed_either() {
    let other = Remote::start(|_| answer(200, "")).await;
    let target = format!("{}/oauth/token", other.url());
    let remote = Remote::start_slow(
        super::remote::later(|_| answer(500, "")),
        super::remote::later(move |_| with_header(answer(307, ""), "location", &target)),
    )
    .await;
    let error = remote.client().deployment(&id()).await.expect_err("no token");
    assert_eq!(error.failure, Failure::NotSent);
    assert!(other.tokens().is_empty() && remote.seen().is_empty());
}
